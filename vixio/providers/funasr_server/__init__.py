"""Speech recognition by a FunASR runtime server, over its WebSocket protocol.

The authority is FunASR's ``runtime/docs/websocket_protocol.md`` and, for what it leaves open, the
servers themselves: ``runtime/websocket/bin/websocket-server{,-2pass}.cpp`` (the images
``funasr-runtime-sdk``) and ``runtime/python/websocket/funasr_wss_server.py``::

    settings.py    the options
    messages.py    the frames, written and read (no I/O)
    transcript.py  the words of one utterance, and when they are complete (no I/O)
    connection.py  one WebSocket
    pool.py        the WebSockets that wait for the next utterance
    provider.py    the interface
"""
