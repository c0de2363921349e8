"""Loads libopus and opuslib's bindings, for all codecs."""

from __future__ import annotations

import functools
import warnings
from ctypes.util import find_library
from typing import Any, Final

from vixio.core.errors import ConfigError

MISSING_LIBOPUS: Final = (
    "libopus is missing; install it: apt install libopus0 (Debian, Ubuntu), "
    "dnf install opus (Fedora), brew install opus (macOS)"
)


@functools.cache
def load_libopus() -> None:
    """Load libopus and its bindings. Idempotent, blocking (tens of milliseconds), thread-safe.

    Raises ConfigError with one line that says how to install libopus if it is missing.
    """
    # Looked up first: opuslib raises a bare Exception, at its import.
    if find_library("opus") is None:
        raise ConfigError(MISSING_LIBOPUS)
    with warnings.catch_warnings():
        # opuslib compares an int by "is"; without a cached bytecode file that warns.
        warnings.simplefilter("ignore", SyntaxWarning)
        import opuslib.api.decoder
        import opuslib.api.encoder  # noqa: F401 - loaded for later


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
