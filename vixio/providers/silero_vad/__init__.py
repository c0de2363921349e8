"""Voice activity detection by Silero's ONNX model, batched over all devices of the process.

``model`` runs the network, ``worker`` is the thread that gathers windows into batches,
``provider`` is the interface and the settings.
"""
