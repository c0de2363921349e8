"""TTS by Piper in a thread of this process; a voice is an ONNX file and its JSON file.

Its phonemes come from a worker process: piper-tts's own eSpeak NG would run in this one.

Piper is GPL-3.0-or-later. Only the extra ``piper`` installs it (docs/dependencies.md).
"""
