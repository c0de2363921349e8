"""Speech recognition and voices of DashScope (Bailian): dashscope.aliyuncs.com.

Written from the vendor's documents; which of it was tried, and against what, is in
docs/providers.md::

    settings.py  the options
    errors.py    what the vendor's codes mean, and where it is mended
    messages.py  the messages of both protocols (no I/O), and the connection
    asr.py       the recogniser
    tts.py       the voice: one task or session a reply

Two protocols: ``inference`` has tasks, one after the other on a connection that is kept;
``realtime``, for models named ``qwen…``, has one session a connection.
"""
