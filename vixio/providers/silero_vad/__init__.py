"""Voice activity detection by Silero's ONNX model, batched over all devices of the process.

``network`` lays the network out for many windows in a call, with ``onnx_file``; ``model`` runs it
and keeps the devices' state, ``lone`` runs it for one device; ``provider`` has the provider and its
settings.
"""
