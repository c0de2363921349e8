"""The base of VAD providers whose network runs in this process, window by window.

``worker`` is the thread that runs the windows of all devices in batches, ``provider`` the
provider's base class. A vendor adds its model, its window size and its settings.
"""
