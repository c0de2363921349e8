"""Voices of Piper, each from an ONNX file and its JSON, synthesised in a thread of this process.

Piper is GPL-3.0-or-later and comes with the extra ``piper`` alone (docs/dependencies.md).
"""
