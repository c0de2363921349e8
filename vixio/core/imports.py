"""How the agent SDK is imported: by one thread at a time, and without what no turn needs.

The SDK imports ``mcp.shared.exceptions`` for one class, and Python runs a package's ``__init__``
before its submodules: that of ``mcp`` imports clients, servers and three versions of the types of
its protocol, a third of the SDK's import time and 19 MB. So the ``__init__`` of ``mcp`` is
postponed until a name of the package itself is used, as a source of MCP tools does.
``importlib.util.LazyLoader`` loads a package as soon as a submodule is imported.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, Final

POSTPONED: Final = "mcp"

_LOCK: Final = threading.RLock()
"""Held during imports of the SDK and of the postponed package. Two threads that import a package
with circular imports at the same time end in importlib's DeadlockError, and the memory needs the
SDK as the agent does."""

_FOR_SUBMODULES: Final = frozenset({"__path__", "__spec__", "__name__", "__file__"})
"""What Python reads of a package to import its submodules, and to look for an object's module."""


@contextmanager
def sdk_import() -> Iterator[None]:
    """Import the agent SDK, or a package that it shares, in this context. May wait for seconds."""
    with _LOCK:
        _postpone(POSTPONED)
        yield


def _postpone(name: str) -> None:
    """Make the package known without running its ``__init__``; no effect if it is imported."""
    if name in sys.modules or (spec := find_spec(name)) is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    module.__class__ = _PostponedPackage
    _waiting.add(name)
    sys.modules[name] = module


class _PostponedPackage(ModuleType):
    """A package that becomes an ordinary one at the first use of a name in it."""

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of a module
        if name not in _FOR_SUBMODULES:
            _finish(self)
        return ModuleType.__getattribute__(self, name)


_waiting: set[str] = set()
"""Postponed packages whose ``__init__`` has not run."""
_running: set[str] = set()
"""Those whose ``__init__`` runs, under the lock."""


def _finish(module: ModuleType) -> None:
    """Run the ``__init__``, once; other threads wait for it. Raises what it raises."""
    with _LOCK:
        name = module.__name__
        if name not in _waiting or name in _running:
            return  # another thread has finished it, or it is reading its own names
        spec = module.__spec__
        if spec is None or spec.loader is None:
            return
        _running.add(name)
        try:
            spec.loader.exec_module(module)
        finally:
            _running.discard(name)
        module.__class__ = ModuleType
        _waiting.discard(name)
