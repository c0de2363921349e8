"""Consoles that read along in a benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.data.database.create import make_database
from vixio.web.api.keys import Keys
from vixio_bench.load.command import main
from vixio_bench.load.watched import make_watcher


async def test_each_reader_has_a_token_of_its_own(tmp_path: Path) -> None:
    watcher = await make_watcher(tmp_path, 10)
    assert len(set(watcher.tokens)) == 10
    database = make_database(tmp_path, "")
    await database.open()
    for token in watcher.tokens:
        assert await Keys(database).holder(token) is not None
    await database.close()


def test_more_readers_than_a_server_takes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--watched", "99"]) == 2
    assert "--watched: a server has 32 streams at most" in capsys.readouterr().err
