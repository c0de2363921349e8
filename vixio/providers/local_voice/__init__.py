"""What voices have in common that are synthesised in this process.

``job`` takes PCM from a thread to the event loop, ``worker`` is the thread for the texts of all
devices, ``provider`` the interface over both. A vendor brings its voice and its settings.
"""
