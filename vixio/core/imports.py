"""How the agent SDK is imported: by one thread at a time.

The Responses API, LiteLLM, two of the memory's stores and MCP servers need the SDK or a package
that it shares, and each imports it in a thread of its own. Two threads that import a package with
circular imports at the same time end in importlib's DeadlockError.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_LOCK: Final = threading.RLock()


@contextmanager
def sdk_import() -> Iterator[None]:
    """Import the agent SDK, or a package that it shares, in this context. May wait for seconds."""
    with _LOCK:
        yield
