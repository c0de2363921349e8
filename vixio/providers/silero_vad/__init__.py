"""Voice activity detection by Silero's ONNX model, batched over all devices of the process.

``model`` runs the network, ``provider`` is the interface and the settings.
"""
