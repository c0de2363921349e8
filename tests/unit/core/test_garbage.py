"""The collector while the server loads, and afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from vixio.core.garbage import collect_rarely, freeze_memory


@pytest.fixture
def thresholds() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(before[0] + 1, *before[1:])  # as a program may have set them
    yield gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(*before)


def test_it_is_as_before_when_the_server_has_loaded(thresholds: tuple[int, int, int]) -> None:
    collect_rarely()
    collect_rarely()  # by the command and by the server
    assert gc.get_threshold()[0] > thresholds[0]
    freeze_memory()
    assert gc.get_threshold() == thresholds
    assert gc.get_freeze_count() > 0
    freeze_memory()  # without a start before it
    assert gc.get_threshold() == thresholds
