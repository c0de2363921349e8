"""One file arrives whole and as announced, whatever its server does."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path

import pytest

from tests.support.hub import (
    Answer,
    Fault,
    HubServer,
    another,
    cut,
    dripping,
    git_sha1,
    sha256,
    short,
    stalled,
    status,
    too_long,
    web_page,
    whole,
    zipped,
)
from tests.unit.providers.downloads.conftest import BIG
from tests.unit.providers.downloads.downloads import EXACT, fetched, left
from vixio.providers.downloads.errors import Trouble
from vixio.providers.downloads.hubs import Remote
from vixio.providers.downloads.transfer import Expected, download
from vixio.providers.downloads.web import Patience, Web

UNKNOWN = Expected(len(BIG) * 2)


@pytest.fixture
def file(hub: HubServer) -> Remote:
    hub.put("/file", BIG, etag='"one"')
    return Remote(f"{hub.base}/file")


def ranges(hub: HubServer) -> list[str]:
    return [request.headers.get("range", "") for request in hub.requests]


async def test_a_file(web: Web, hub: HubServer, file: Remote, target: Path) -> None:
    seen = await fetched(web, file, target)
    assert seen[0] == 0
    assert seen[-1] == len(BIG)
    assert seen == sorted(seen)
    assert hub.requests[0].headers["accept-encoding"] == "identity"


async def test_a_broken_connection_is_continued(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    hub.fail("/file", cut(100_000), status(503), status(500))
    await fetched(web, file, target)
    assert ranges(hub) == ["", "bytes=100000-", "bytes=100000-", "bytes=100000-"]
    assert hub.requests[1].headers["if-range"] == '"one"'


@pytest.mark.slow
async def test_a_silent_server_is_left(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    hub.fail("/file", stalled(hub, 5_000))
    await fetched(web, file, target)
    assert ranges(hub) == ["", "bytes=5000-"]


async def test_a_nearly_silent_server_is_left(hub: HubServer, file: Remote, target: Path) -> None:
    hub.fail("/file", dripping(0.02))
    async with Web(Patience(stall=0.2, pause=0.01)) as web:
        await fetched(web, file, target)
    assert len(hub.requests) == 2


async def test_a_server_without_ranges_begins_anew(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    hub.fail("/file", cut(100_000), whole)
    seen = await fetched(web, file, target)
    assert ranges(hub) == ["", "bytes=100000-"]
    assert seen.count(0) == 2


async def test_fewer_bytes_than_expected_are_continued(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    hub.fail("/file", short(77))
    await fetched(web, file, target)
    assert ranges(hub) == ["", "bytes=77-"]


async def test_it_gives_up_after_some_failures_without_progress(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    hub.fail("/file", *[status(502)] * 9)
    with pytest.raises(Trouble, match="HTTP 502"):
        await fetched(web, file, target)
    assert len(hub.requests) == web.patience.tries


async def test_many_failures_with_progress_are_borne(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    for at in range(10_000, 200_000, 10_000):
        hub.fail("/file", _cut_behind(at))
    await fetched(web, file, target)
    assert len(hub.requests) > web.patience.tries


def _cut_behind(end: int) -> Fault:
    async def fault(answer: Answer) -> None:
        start = int(answer.request.headers.get("range", "bytes=0-")[6:-1])
        headers = {"Content-Range": f"bytes {start}-{len(BIG) - 1}/{len(BIG)}", "ETag": '"one"'}
        rest = len(BIG) - start
        await answer.send(206 if start else 200, headers, BIG[start:end], length=rest, close=True)

    return fault


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (another, "SHA-256"),
        (too_long(5), "more than it announced"),
        (web_page, "web page"),
        (zipped, "compressed"),
        (status(200, b"tiny"), "4 bytes instead of 300000"),
        (status(404), "not there any more"),
        (status(410), "not there any more"),
        (status(401), "access refused"),
        (status(403), "access refused"),
        (status(418), "HTTP 418"),
        (status(429, Retry_After="3600"), "too many requests .* wait 3600 s"),
    ],
)
async def test_what_is_refused_at_once(
    web: Web, hub: HubServer, file: Remote, target: Path, fault: Fault, told: str
) -> None:
    hub.fail("/file", fault)
    with pytest.raises(Trouble, match=told):
        await fetched(web, file, target)
    assert len(hub.requests) == 1
    assert target.name not in left(target)


async def test_a_busy_server_is_asked_again_when_it_says(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    hub.fail("/file", status(429, Retry_After="0"), status(503, Retry_After=date, Date=date))
    await fetched(web, file, target)
    assert len(hub.requests) == 3


async def test_unknown_sizes_are_bounded(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    with pytest.raises(Trouble, match="far more than expected"):
        await fetched(web, file, target, Expected(1000))
    hub.fail("/file", short(len(BIG)))
    with pytest.raises(Trouble, match="more than it announced"):
        await fetched(web, file, target, Expected(1000))


async def test_a_file_of_which_nothing_is_known(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    hub.fail("/file", cut(100_000))
    await fetched(web, file, target, UNKNOWN)
    assert ranges(hub) == ["", "bytes=100000-"]


async def test_the_git_digest_counts(web: Web, file: Remote, target: Path) -> None:
    await fetched(web, file, target, Expected(len(BIG), None, None, git_sha1(BIG)))
    with pytest.raises(Trouble, match="git digest"):
        await fetched(web, file, target, Expected(len(BIG), None, None, git_sha1(b"other")))


# ── continuing an earlier command ────────────────────────────────────────────────────────────────


async def interrupted(web: Web, hub: HubServer, remote: Remote, target: Path, to: Expected) -> None:
    """Cancel a download in the middle: what arrived is kept."""
    arrived = asyncio.Event()
    hub.fail("/file", stalled(hub, 120_000))

    def on_bytes(done: int) -> None:
        if done == 120_000:
            arrived.set()

    task = asyncio.create_task(download(web, remote, target, to, on_bytes))
    async with asyncio.timeout(30):
        await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    there = left(target)
    assert there.pop("model.onnx.part") == BIG[:120_000]
    assert list(there) == ["model.onnx.part.json"]


@pytest.mark.parametrize("expected", [EXACT, UNKNOWN])
async def test_a_cancelled_download_goes_on(
    web: Web, hub: HubServer, file: Remote, target: Path, expected: Expected
) -> None:
    await interrupted(web, hub, file, target, expected)
    await fetched(web, file, target, expected)
    assert ranges(hub) == ["", "bytes=120000-"]


async def test_what_arrived_is_kept_before_a_cancelled_download_ends(
    web: Web, hub: HubServer, file: Remote, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing, may_close = threading.Event(), threading.Event()

    def slow_disk(_: int) -> None:
        closing.set()
        assert may_close.wait(30)

    monkeypatch.setattr(os, "fsync", slow_disk)
    arrived = asyncio.Event()
    hub.fail("/file", stalled(hub, 120_000))
    task = asyncio.create_task(
        download(web, file, target, EXACT, lambda done: arrived.set() if done == 120_000 else None)
    )
    async with asyncio.timeout(30):
        await arrived.wait()
    task.cancel()
    assert await asyncio.to_thread(closing.wait, 30)
    task.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not task.done()
    may_close.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left(target)["model.onnx.part"] == BIG[:120_000]


@pytest.mark.parametrize("expected", [EXACT, UNKNOWN])
async def test_a_file_that_changed_meanwhile_is_not_joined(
    web: Web, hub: HubServer, file: Remote, target: Path, expected: Expected
) -> None:
    hub.put("/file", bytes(len(BIG)), etag='"older"')
    part = target.with_name("model.onnx.part")
    part.write_bytes(bytes(70_000))
    state = {"url": file.url, "etag": '"older"', "sha256": expected.sha256}
    part.with_name("model.onnx.part.json").write_text(json.dumps(state))
    hub.put("/file", BIG, etag='"newer"')
    await fetched(web, file, target, expected)
    assert hub.requests[0].headers["if-range"] == '"older"'


async def test_a_server_that_ignores_if_range_is_found_out(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    part = target.with_name("model.onnx.part")
    part.write_bytes(bytes(70_000))
    state = {"url": file.url, "etag": '"older"', "sha256": None}
    part.with_name("model.onnx.part.json").write_text(json.dumps(state))

    async def careless(answer: Answer) -> None:
        del answer.request.headers["if-range"]
        await answer.serve()

    hub.fail("/file", careless)
    await fetched(web, file, target, UNKNOWN)
    assert ranges(hub) == ["bytes=70000-", ""]


async def test_parts_of_two_versions_are_found_by_the_digest(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    """Of another mirror, with the digest expected that the first part promised."""
    part = target.with_name("model.onnx.part")
    part.write_bytes(bytes(70_000))
    state = {"url": "http://elsewhere/file", "etag": '"x"', "sha256": sha256(BIG)}
    part.with_name("model.onnx.part.json").write_text(json.dumps(state))
    await fetched(web, file, target)
    assert ranges(hub) == ["bytes=70000-", ""]
    assert "if-range" not in hub.requests[0].headers


@pytest.mark.parametrize(
    "state",
    [
        None,
        "not json",
        {"url": "http://elsewhere/file", "etag": '"one"', "sha256": None},
        {"url": "here", "etag": 'W/"one"', "sha256": None},
        {"url": "here", "etag": "", "sha256": None},
    ],
)
async def test_a_part_of_unknown_origin_is_not_continued(
    web: Web, hub: HubServer, file: Remote, target: Path, state: object
) -> None:
    part = target.with_name("model.onnx.part")
    part.write_bytes(BIG[:70_000])
    if isinstance(state, dict):
        state = {**state, "url": state["url"].replace("here", file.url)}
    if state is not None:
        part.with_name("model.onnx.part.json").write_text(json.dumps(state))
    await fetched(web, file, target, UNKNOWN)
    assert ranges(hub) == [""]


async def test_a_part_that_is_longer_than_the_file(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    part = target.with_name("model.onnx.part")
    part.write_bytes(BIG + b"more")
    state = {"url": file.url, "etag": '"one"', "sha256": None}
    part.with_name("model.onnx.part.json").write_text(json.dumps(state))
    await fetched(web, file, target, UNKNOWN)
    assert ranges(hub) == [f"bytes={len(BIG) + 4}-", ""]  # 416, then the whole


async def test_a_whole_part_is_not_fetched_again(
    web: Web, hub: HubServer, file: Remote, target: Path
) -> None:
    part = target.with_name("model.onnx.part")
    part.write_bytes(BIG)
    state = {"url": file.url, "etag": '"one"', "sha256": sha256(BIG)}
    part.with_name("model.onnx.part.json").write_text(json.dumps(state))
    await download(web, file, target, EXACT, lambda _: None)
    assert left(target) == {target.name: BIG}
    assert hub.requests == []
