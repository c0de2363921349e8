"""TEN VAD's native library: its path and its functions.

The ``ten-vad`` distribution contains the library, which contains the network. Its Python class is
not used: it loads the library once per detector, requires a numpy array per window and raises
assertions from ``__del__``. The functions are declared in ``include/ten_vad.h`` of TEN VAD's
sources. Calls release the GIL.
"""

from __future__ import annotations

import ctypes
import platform
from importlib.util import find_spec
from pathlib import Path

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.extras import how_to_install

NAME = "ten"

WINDOW = 256
"""Samples of one run, 16 ms at 16 kHz: the step that the network was trained with."""
WINDOW_BYTES = WINDOW * 2

_LIBCXX = (
    "it needs libc++: Debian/Ubuntu: sudo apt-get install libc++1; Fedora: sudo dnf install libcxx"
)
_FILES = {
    ("Linux", "x86_64"): "lib/Linux/x64/libten_vad.so",
    ("Darwin", "x86_64"): "lib/macOS/ten_vad.framework/Versions/A/ten_vad",
    ("Darwin", "arm64"): "lib/macOS/ten_vad.framework/Versions/A/ten_vad",
    ("Windows", "AMD64"): "lib/Windows/x64/ten_vad.dll",
}


def find_library() -> Path:
    """Return the library's path, without importing its package. Raises ProviderUnavailable."""
    spec = find_spec("ten_vad")
    if spec is None or not spec.submodule_search_locations:
        raise ProviderUnavailable(NAME, f"TEN VAD is not installed: {how_to_install('ten')}")
    machine = (platform.system(), platform.machine())
    file = _FILES.get(machine)
    if file is None:
        raise ProviderUnavailable(
            NAME, f"TEN VAD has no library for {' '.join(machine)}: use `vad: {{name: silero}}`"
        )
    path = Path(spec.submodule_search_locations[0], file)
    if not path.is_file():
        raise ProviderUnavailable(NAME, f"ten-vad carries no {path.name}: {how_to_install('ten')}")
    return path


class Detector:
    """One device's native state, about 0.6 MB."""

    __slots__ = ("_flag", "_handle", "_library", "_probability")

    def __init__(self, library: ctypes.CDLL) -> None:
        """Create the native detector. Raises ProviderError if memory is exhausted."""
        self._library = library
        self._handle = ctypes.c_void_p()
        self._probability = ctypes.c_float()
        self._flag = ctypes.c_int32()
        # The threshold applies to the flag, which is not used: stations use the probability.
        if library.ten_vad_create(ctypes.byref(self._handle), WINDOW, 0.5) != 0:
            raise ProviderError(NAME, "no memory for another detector")

    def process(self, window: bytes) -> float:
        """Return the speech probability of ``window``, ``WINDOW_BYTES`` of PCM."""
        result = self._library.ten_vad_process(
            self._handle,
            window,
            WINDOW,
            ctypes.byref(self._probability),
            ctypes.byref(self._flag),
        )
        if result != 0:
            raise ProviderError(NAME, "the library refused a window")
        return self._probability.value

    def destroy(self) -> None:
        """Free the memory. Idempotent; the last call."""
        if self._handle.value is not None:
            self._library.ten_vad_destroy(ctypes.byref(self._handle))
            self._handle = ctypes.c_void_p()


def load_library() -> ctypes.CDLL:
    """Load the library. Blocking. Raises ProviderUnavailable with what to install."""
    path = find_library()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        if "libc++" in str(error):
            raise ProviderUnavailable(NAME, _LIBCXX) from error
        raise ProviderUnavailable(
            NAME, f"cannot load {path.name}: {how_to_install('ten')}"
        ) from error
    handle = ctypes.POINTER(ctypes.c_void_p)
    library.ten_vad_create.argtypes = [handle, ctypes.c_size_t, ctypes.c_float]
    library.ten_vad_process.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,  # int16 samples, without a copy: the memory of a bytes object is aligned
        ctypes.c_size_t,
        ctypes.POINTER(ctypes.c_float),
        ctypes.POINTER(ctypes.c_int32),
    ]
    library.ten_vad_destroy.argtypes = [handle]
    return library
