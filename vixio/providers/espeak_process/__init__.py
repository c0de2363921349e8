"""eSpeak NG in worker processes: some texts make the library crash, which must not end the server.

Modules::

    messages.py  the messages between a client and a worker
    library.py   the C library, loaded by workers only
    worker.py    the worker process
    pool.py      the workers that all voices of a server share, and requests on their way
    phonemes.py  a blocking client, for threads and other worker processes
    cleaning.py  text without what the library crashes on or cannot speak
"""
