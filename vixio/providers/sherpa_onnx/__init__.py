"""ASR and TTS by sherpa-onnx; each model is a folder of ONNX files.

The library aborts the process on a model that lacks a property, so models are checked before they
are loaded. ``folder`` finds the files, ``onnx_header`` reads a model's metadata, ``asr_kinds`` and
``tts_kinds`` list the files and properties of each kind of model, and ``trial`` loads a model in a
process of its own first. ``asr_threads`` has the decoding threads, ``asr`` and ``tts`` the
providers.
"""
