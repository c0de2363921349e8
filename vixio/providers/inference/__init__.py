"""Machinery that providers share for models in threads and in worker processes.

Modules::

    worker_process.py  one worker process: its start, its messages and its end
    worker_pool.py     keeps worker processes running and replaces those that end
    thread.py          a thread that runs a model for all devices of an event loop
    audio_queue.py     PCM on its way from a model to the device that listens
"""
