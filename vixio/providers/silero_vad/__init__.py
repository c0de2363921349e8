"""Voice activity detection by Silero's ONNX model, batched over all devices of the process.

``model`` runs the network, ``provider`` has the provider and its settings.
"""
