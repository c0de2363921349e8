"""Voice activity detection by TEN VAD's native library, off the loop for all devices at once.

``library`` binds its four functions, ``model`` holds one native detector a device, ``provider`` is
the interface and the settings.
"""
