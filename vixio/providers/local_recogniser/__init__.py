"""The base of ASR providers whose model runs in this process.

``models`` are the interfaces of the models: for whole utterances, and for streaming ones.
``threads`` decode the utterances of all devices, ``provider`` is the provider's base class with its
stream. A vendor adds its model and its settings.
"""
