"""Recognisers and voices that sherpa-onnx runs, each from a folder of ONNX files.

``folder`` finds the files, ``onnx_header`` reads what a model says of itself, before the library
is given it: on a model that lacks something the library ends the whole process. ``asr_kinds`` and
``tts_kinds`` say which files and which properties each kind of model has, ``asr_threads`` is the
thread that decodes, ``asr`` and ``tts`` are the interfaces and the settings.
"""
