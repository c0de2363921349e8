"""The base of VAD providers whose network runs in this process, window by window.

``worker`` runs the windows of all devices, in batches in a thread or a few directly on the event
loop, as ``direct`` decides; ``provider`` has the provider's base class. A vendor adds its model,
its window size and its settings.
"""
