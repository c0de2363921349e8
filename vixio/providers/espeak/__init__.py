"""Speech synthesis by eSpeak NG, in worker processes (``vixio.providers.espeak_process``).

``text`` cuts what is spoken into pieces, ``provider`` is the interface and the settings.
"""
