"""What VAD providers have in common whose network runs in this process, window by window.

``worker`` is the thread that gathers the windows of all devices into batches, ``provider`` the
interface over it. A provider of this kind brings its model, its window and its settings.
"""
