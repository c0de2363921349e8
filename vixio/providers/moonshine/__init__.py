"""Moonshine, a small model of free English speech, on the onnxruntime of the default install.

``files`` says where the model's files are, ``tokenizer`` reads its symbols, ``model`` runs it,
``provider`` has the settings.
"""
