"""Speech recognition by PocketSphinx, offline, over the closed grammar of the phrase book.

Decoding holds the GIL, so it runs in worker processes, which are fed while the user speaks::

    provider.py   settings, provider and stream, on the event loop of the server
    pool.py       starts, watches and replaces the worker processes, and has them make grammars
                  ahead of their use
    messages.py   the messages between server and worker
    worker.py     the worker's main loop (``python -m vixio.providers.pocketsphinx.worker``)
    utterance.py  the audio of one utterance in a worker
    decoder.py    decodes one utterance and scores the result
    lexicon.py    pronunciations, from the model's dictionary or from eSpeak NG
"""
