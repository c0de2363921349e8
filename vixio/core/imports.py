"""One import at a time of a package whose modules import each other."""

from __future__ import annotations

import threading

SDK_IMPORT = threading.RLock()
"""Held while the agent SDK is imported. Two threads that import a package with circular imports at
the same time end in importlib's DeadlockError, and the memory needs the SDK as the agent does."""
