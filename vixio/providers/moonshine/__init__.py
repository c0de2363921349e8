"""Moonshine, a small model of free English speech, on the onnxruntime of the default install.

``files`` says where the model's files are, ``model`` reads its symbols and runs it, ``provider``
has the settings.
"""
