"""TTS by the voices of Microsoft Edge, through the package ``edge-tts``.

``settings`` has the options and selects the voice, ``speech`` synthesises one text, ``errors``
classifies the package's errors, and ``provider`` is the provider.
"""
