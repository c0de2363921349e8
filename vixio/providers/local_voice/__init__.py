"""The base of TTS providers that synthesise in this process.

``job`` passes PCM from a thread to the event loop, ``worker`` is the thread for the texts of all
devices, ``provider`` is the provider's base class, and ``phonemes`` are eSpeak NG's, from a worker
process. A vendor adds its voice and its settings.
"""
