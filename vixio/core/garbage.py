"""The garbage collector while the server loads, and after it."""

from __future__ import annotations

import gc
from typing import Final

_RARE: Final = (50_000, 50, 50)
"""Objects that trigger a collection while modules are imported: nearly all of them stay."""

_usual: list[tuple[int, int, int]] = []
"""The thresholds before :func:`collect_rarely`."""


def collect_rarely() -> None:
    """Collect little until :func:`freeze_memory`: a tenth of the time in which packages load."""
    if gc.get_threshold() != _RARE:
        _usual.append(gc.get_threshold())
        gc.set_threshold(*_RARE)


def freeze_memory() -> None:
    """Exclude what is loaded from the garbage collector: it stays until the process ends.

    A full collection over the classes of all libraries would stop all devices for tens of
    milliseconds; with the agent SDK, for a tenth of a second.
    For the same reason none comes first: the first turns run at this moment, and after the imports
    there is hardly any garbage.
    """
    gc.freeze()
    collect_as_usual()


def collect_as_usual() -> None:
    """Undo :func:`collect_rarely`, if it has been called."""
    if _usual:
        gc.set_threshold(*_usual.pop())
