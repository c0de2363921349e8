"""Streams from a stand-in on this machine, with the faults that real ones have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.radio_server import RadioServer, frames
from vixio.core.errors import SoundFailed
from vixio.tools.media import stream as streams
from vixio.tools.media.decoding import StreamDecoder
from vixio.tools.media.library import Item, episodes
from vixio.tools.media.stream import MAX_HOPS, Stream, fetched
from vixio.tools.media.wire import Chunks, Icy


@pytest_asyncio.fixture
async def radio() -> AsyncIterator[RadioServer]:
    async with RadioServer() as server:
        yield server


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "WAITS_S", (0.0, 0.0, 0.0))


def stream(address: str, *, live: bool = False, trusted: bool = True, stall: float = 5.0) -> Stream:
    return Stream(address, live=live, trusted=trusted, private=False, stall=stall)


async def played(stream: Stream, most: float = 1e9) -> dict[int, float]:
    """Return the seconds of sound by rate."""
    found: dict[int, float] = {}
    async for pcm, rate in stream.read(None):
        found[rate] = found.get(rate, 0.0) + len(pcm) / 2 / rate
        if sum(found.values()) >= most:
            break
    return found


def seconds(rate: int, times: int) -> float:
    decoder = StreamDecoder(mp3=True)
    pieces = [*decoder.feed(frames(rate, times)), *decoder.finish()]
    return sum(len(pcm) for pcm, _ in pieces) / 2 / rate


async def test_a_change_of_the_rate_is_another_stream(radio: RadioServer) -> None:
    found = await played(stream(f"{radio.url}/rates"))
    assert set(found) == {24_000, 44_100}
    assert found[24_000] == pytest.approx(seconds(24_000, 6), abs=0.1)
    assert found[44_100] == pytest.approx(seconds(44_100, 6), abs=0.1)


@pytest.mark.parametrize("path", ["chunked", "plain", "hops/5", "list.pls"])
async def test_ways_to_a_stream(radio: RadioServer, path: str) -> None:
    times = 4 if path == "chunked" else 8
    found = await played(stream(f"{radio.url}/{path}"))
    assert found[24_000] == pytest.approx(seconds(24_000, times), abs=0.1)


async def test_titles_come_beside_the_sound(radio: RadioServer) -> None:
    live = stream(f"{radio.url}/live", live=True)
    await played(live, 5.0)
    assert live.titles == ["Nina - One", "Nina - Two"]
    assert radio.asked[0][1]["icy-metadata"] == "1"


async def test_a_stall_is_another_connection(radio: RadioServer) -> None:
    most = seconds(24_000, 3) + 1.0
    found = await played(stream(f"{radio.url}/stalls-once", live=True, stall=0.3), most)
    assert found[24_000] >= most
    assert radio.count("/stalls-once") == 2


async def test_an_end_is_another_connection_of_what_is_live(radio: RadioServer) -> None:
    most = seconds(24_000, 2) * 2.5
    await played(stream(f"{radio.url}/ends", live=True), most)
    assert radio.count("/ends") == 3


async def test_what_breaks_off_goes_on_at_its_byte(radio: RadioServer) -> None:
    found = await played(stream(f"{radio.url}/episode"))
    assert found[24_000] == pytest.approx(seconds(24_000, 12), abs=0.001)
    assert radio.count("/episode") == 3
    assert [headers.get("range") is not None for _, headers in radio.asked] == [False, True, True]


@pytest.mark.parametrize(
    ("path", "key", "connections"),
    [
        ("stalls", "media_stalled", streams.ATTEMPTS),
        ("refuses", "media_unreachable", streams.ATTEMPTS),
        ("gone", "media_gone", 1),
        ("aac", "media_format", 1),
        ("page", "media_format", 1),
        ("hls.m3u8", "media_format", 1),
        ("hops/7", "media_unreachable", streams.ATTEMPTS * (MAX_HOPS + 1)),
    ],
)
async def test_why_it_is_not_played(
    radio: RadioServer, path: str, key: str, connections: int
) -> None:
    with pytest.raises(SoundFailed) as failed:
        await played(stream(f"{radio.url}/{path}", live=True, stall=0.2))
    assert failed.value.key == key
    assert len(radio.asked) == connections


async def test_nobody_answers() -> None:
    with pytest.raises(SoundFailed) as failed:
        await played(stream("http://127.0.0.1:1/x"))
    assert failed.value.key == "media_unreachable"


async def test_an_address_of_others_does_not_lead_into_the_private_network(
    radio: RadioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SoundFailed) as failed:
        await played(stream(f"{radio.url}/plain", trusted=False))
    assert failed.value.key == "media_denied"
    assert radio.asked == []
    # The operator's address is public: what it leads to has to be.
    monkeypatch.setattr(streams, "is_public", lambda address: True)
    with pytest.raises(SoundFailed) as failed:
        await played(stream(f"{radio.url}/inside"))
    assert failed.value.key == "media_denied"


async def test_a_podcast_is_its_episodes_newest_first(radio: RadioServer) -> None:
    feed = await fetched(stream(f"{radio.url}/feed"), 10_000)
    found = episodes(feed, Item("Science", "", "podcast"))
    assert [item.title for item in found] == ["Episode 3", "Episode 2", "Episode 1"]
    assert not any(item.trusted for item in found)
    with pytest.raises(SoundFailed):
        await fetched(stream(f"{radio.url}/feed"), 100)


@pytest.mark.parametrize("feed", [b"<rss/>", b"no xml", b"<!DOCTYPE x [<!ENTITY a 'b'>]><rss/>"])
def test_what_is_no_feed_is_said(feed: bytes) -> None:
    with pytest.raises(SoundFailed):
        episodes(feed, Item("Science", "", "podcast"))


async def test_what_is_left_closes_its_connection(radio: RadioServer) -> None:
    reading = stream(f"{radio.url}/live", live=True).read(None)
    await anext(reading)
    await reading.aclose()  # type: ignore[attr-defined]  # an asynchronous generator
    assert len(asyncio.all_tasks()) <= 2


@pytest.mark.parametrize("size", [1, 7, 4_096])
def test_bytes_may_come_in_any_pieces(size: int) -> None:
    sound = bytes(range(255)) * 40
    chunks, icy = Chunks(), Icy(100)
    mixed = b"".join(
        sound[at : at + 100] + (b"\x01StreamTitle='A';" if at == 0 else b"\0")
        for at in range(0, len(sound), 100)
    )
    sent = b"".join(
        f"{len(mixed[at : at + 999]):x}\r\n".encode() + mixed[at : at + 999] + b"\r\n"
        for at in range(0, len(mixed), 999)
    )
    got, titles = b"", []
    for at in range(0, len(sent) + 5, size):
        audio, found = icy.feed(chunks.feed((sent + b"0\r\n\r\n")[at : at + size]))
        got += audio
        titles += found
    assert got == sound
    assert titles == ["A"]
    assert chunks.ended
