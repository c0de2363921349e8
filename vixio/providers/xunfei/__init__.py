"""Speech recognition and voices of Xunfei (iFlytek).

Written from the vendor's documents; which of it was tried, and against what, is in
docs/providers.md::

    settings.py  the options
    signing.py   the signed address of a connection, and what refusals and codes mean
    asr.py       the recogniser: an utterance a connection
    tts.py       the voice: a sentence a connection
"""
