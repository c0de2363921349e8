"""Machinery that providers share for models in threads and in worker processes.

Modules::

    workers.py      worker processes, and a pool that replaces those that end
    thread.py       a thread that runs a model for all devices of an event loop
    audio_queue.py  PCM on its way from a model to the device that listens
"""
