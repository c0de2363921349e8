"""Voice activity detection by TEN VAD's native library, in one thread for all devices.

``library`` binds its functions, ``model`` has one native detector per device, ``provider`` has the
provider and its settings.
"""
