"""Speech recognition by PocketSphinx, offline, over the closed grammar of the phrase book.

Decoding holds the GIL, so it runs in worker processes, fed while the user speaks::

    provider.py  settings, provider and stream: what the server sees, on the event loop
    pool.py      the worker processes: starting, watching, replacing
    wire.py      the frames on the pipes between the two
    worker.py    the worker's main loop (``python -m vixio.providers.pocketsphinx.worker``)
    decoder.py   decoding one utterance, and how far to believe it
    lexicon.py   pronunciations, from the model's dictionary or from eSpeak NG
"""
