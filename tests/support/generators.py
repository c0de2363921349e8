"""Which asynchronous generators the garbage collector has to close."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def left_open() -> Iterator[list[str]]:
    """Give a list, which at the end holds the generators that began inside and were left open.

    To be used within the running loop, which sets hooks of its own when it begins.
    """
    names: list[str] = []
    before = sys.get_asyncgen_hooks()

    def finalize(generator: AsyncGenerator[Any, Any]) -> None:
        names.append(getattr(generator, "__qualname__", "?"))
        if before.finalizer is not None:
            before.finalizer(generator)

    sys.set_asyncgen_hooks(finalizer=finalize)
    # So that all that is made inside is of the youngest generation at the end: to go through the
    # others, with all that earlier tests have made, takes half a second.
    gc.disable()
    try:
        yield names
        gc.collect(0)
    finally:
        gc.enable()
        sys.set_asyncgen_hooks(finalizer=before.finalizer)
