"""Speech synthesis by eSpeak NG, in the process.

``library`` binds the C library, ``engine`` is the one thread that may call it, ``text`` prepares
what is spoken, ``provider`` is the interface and the settings.
"""
