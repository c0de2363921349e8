"""Wires: how devices reach a session. Each kind of device has a folder of its own."""
