"""Speech recognition and voices of Volcengine (Doubao): openspeech.bytedance.com, version 3.

Written from the vendor's documents; which of it was tried, and against what, is in
docs/providers.md::

    settings.py  the options, and the headers that they make
    frames.py    the binary frames that both have in common (no I/O)
    errors.py    what the vendor's codes mean, and where it is mended
    asr.py       the recogniser
    tts.py       the voice: one session a reply
    tts_http.py  the voice: one request a sentence
"""
