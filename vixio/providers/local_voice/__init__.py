"""The base of TTS providers that synthesise in this process.

``job`` passes PCM from a thread to the event loop, ``worker`` is the thread for the texts of all
devices, and ``provider`` is the provider's base class. A vendor adds its voice and its settings.
"""
