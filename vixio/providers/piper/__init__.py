"""TTS by Piper in a thread of this process; a voice is an ONNX file and its JSON file.

Piper is GPL-3.0-or-later. Only the extra ``piper`` installs it (docs/dependencies.md).
"""
