"""The collector while the server loads, and afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from vixio.cli.commands import main
from vixio.core.garbage import collect_as_usual, collect_rarely, freeze_memory


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


def test_a_start_that_fails_leaves_it_as_before(thresholds: tuple[int, int, int]) -> None:
    collect_rarely()
    collect_as_usual()
    assert gc.get_threshold() == thresholds
    collect_as_usual()
    assert gc.get_threshold() == thresholds


def test_so_does_the_command(thresholds: tuple[int, int, int], tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["serve", "--config", str(tmp_path / "none.yaml")])
    assert done.exit_code == 2
    assert gc.get_threshold() == thresholds
