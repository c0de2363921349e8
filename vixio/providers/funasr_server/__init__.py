"""Speech recognition by a FunASR runtime server, over its WebSocket protocol.

The protocol is FunASR's ``runtime/docs/websocket_protocol.md``. Where that document is silent, the
servers' sources decide: ``runtime/websocket/bin/websocket-server{,-2pass}.cpp`` (the images
``funasr-runtime-sdk``) and ``runtime/python/websocket/funasr_wss_server.py``::

    settings.py    the options
    messages.py    encoding and decoding of frames (no I/O)
    transcript.py  the transcript of one utterance, and when it is complete (no I/O)
    connection.py  one WebSocket
    pool.py        idle WebSockets, kept for the next utterance
    provider.py    the provider and its streams
"""
