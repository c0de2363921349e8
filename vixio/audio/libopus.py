"""Loads libopus and opuslib's bindings, for all codecs.

The system's library comes first: its security updates come with the system, and Debian's takes a
fifth to a third less time. Where there is none, that of the package ``opuslib-next-bundled`` is
loaded, of which nothing else is used.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import hashlib
import warnings
from ctypes.util import find_library
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from vixio.core.errors import ConfigError

MISSING_LIBOPUS: Final = (
    "libopus is missing; install it: pip install opuslib-next-bundled==0.1.1, "
    "apt install libopus0 (Debian, Ubuntu), dnf install opus (Fedora), brew install opus (macOS)"
)

# Of opuslib-next-bundled 0.1.1, an upload of a single maintainer: Linux on x86-64 and aarch64,
# macOS on both processors, Windows on x86-64.
_NAMES: Final = ("libopus.so", "libopus.dylib", "opus.dll")
_DIGESTS: Final = frozenset(
    {
        "9c7698bb05b8c5a88fddf65870eb6496314c743813f06a562b21440ded124413",
        "884a01fd6cd0255ba5a1f98948f93fb06bff5ac68fbe699a8dd2156e2d543847",
        "7b292cc54640abc2d35d5d501f9c1331d1715d8e0e41e1fcde4c5ae7959d4091",
        "06a19a810816c74b1b86ab4f9d8401f523d700d721936384ff63ad133e94822c",
        "d553adca7b939b9bf2eb9daa85f68c3c41154b97acb61238342fa8c387df05cc",
    }
)


@functools.cache
def load_libopus() -> None:
    """Load libopus and its bindings. Idempotent, blocking (tens of milliseconds), thread-safe.

    Raises ConfigError with one line that says how to install libopus if it is missing.
    """
    location = _system() or _packaged()
    if location is None:
        raise ConfigError(MISSING_LIBOPUS)
    there = ctypes.util.find_library
    with warnings.catch_warnings():
        # opuslib compares an int by "is"; without a cached bytecode file that warns.
        warnings.simplefilter("ignore", SyntaxWarning)
        # opuslib takes the function once, at its import; other names are looked up as ever.
        ctypes.util.find_library = lambda name: location if name == "opus" else there(name)
        try:
            import opuslib.api.decoder
            import opuslib.api.encoder  # noqa: F401 - loaded for later
        finally:
            ctypes.util.find_library = there


def _system() -> str | None:
    """Return where the system's library is, None: there is none that can be loaded."""
    location = find_library("opus")
    if location is not None:
        try:
            ctypes.CDLL(location)
        except OSError:  # of another processor, or gone since the linker's cache was made
            return None
    return location


def _packaged() -> str | None:
    """Return where the package's library is, None: it is not installed."""
    spec = find_spec("opuslib_next")  # which is not imported
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0], "_native")
    for path in filter(Path.is_file, map(folder.joinpath, _NAMES)):
        if hashlib.sha256(path.read_bytes()).hexdigest() not in _DIGESTS:
            raise ConfigError(
                f"{path} is not the library that was tested: "
                "pip install --force-reinstall opuslib-next-bundled==0.1.1"
            )
        return str(path)
    return None


class LibopusState:
    """A state that libopus allocated; freed by close(), at the latest with the object."""

    def __init__(self, state: Any, destroy: Any) -> None:  # noqa: ANN401  ctypes objects
        self.pointer = state
        self._destroy = destroy

    def close(self) -> None:
        """Free it. Idempotent."""
        if self.pointer is not None:
            self._destroy(self.pointer)
            self.pointer = None

    def __del__(self) -> None:
        self.close()
