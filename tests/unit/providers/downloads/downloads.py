"""A download of the tests, and what has to be there when it has ended."""

from __future__ import annotations

from pathlib import Path

from tests.support.hub import git_sha1, sha256
from tests.unit.providers.downloads.conftest import BIG
from vixio.providers.downloads.hubs import Remote
from vixio.providers.downloads.transfer import Expected, download
from vixio.providers.downloads.web import Web

EXACT = Expected(len(BIG), len(BIG), sha256(BIG))


async def fetched(web: Web, remote: Remote, target: Path, expected: Expected = EXACT) -> list[int]:
    """Download; return the reported bytes. The file is there, and nothing beside it."""
    seen: list[int] = []
    digest = await download(web, remote, target, expected, seen.append)
    assert (digest.size, digest.sha256, digest.git) == (len(BIG), sha256(BIG), git_sha1(BIG))
    assert left(target) == {target.name: BIG}
    return seen


def left(target: Path) -> dict[str, bytes]:
    """What is in the folder."""
    return {path.name: path.read_bytes() for path in target.parent.iterdir()}
