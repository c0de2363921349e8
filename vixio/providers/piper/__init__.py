"""TTS by voices of Piper's in a thread of this process; a voice is an ONNX file and its JSON file.

onnxruntime runs the network, and the phonemes come from eSpeak NG in a worker process. No code of
Piper's is used or needed.
"""
