"""The stream of events: who sees what, and goes on where."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.session.conversation import on_virtual_time
from tests.support.cluster_members import two_workers
from tests.support.waiting import until
from vixio.core.clock import now
from vixio.core.local_cluster import LocalCluster
from vixio.core.session.events import SessionOpened, StateChanged, TurnStarted
from vixio.data.database.audit import Change
from vixio.web.feed import feed as feeds
from vixio.web.feed.changes import Past
from vixio.web.feed.feed import EventFeed, TooManyWatches
from vixio.web.feed.position import Position, dump, parse
from vixio.web.feed.watch import BATCH, PAUSE_S, Batch, Watch

DEVICE = "02:00:00:00:00:01"
LONG_S = 30.0


class Trail:
    """An audit trail of so many entries."""

    def __init__(self, length: int = 0) -> None:
        self.length = length

    def add(self, feed: EventFeed) -> None:
        """Add an entry, of which the feed hears."""
        self.length += 1
        feed.changed([change(self.length)])

    async def __call__(self, after: int | None) -> Past:
        if after is None:
            return Past((), self.length, complete=True)
        found = [change(number) for number in range(after + 1, self.length + 1)]
        return Past(found, self.length, complete=after <= self.length)


def change(number: int) -> Change:
    return Change(number, 1_000 + number, "cli:ann", "renamed", f"device:{DEVICE}", "{}")


def made(trail: Trail | None = None) -> EventFeed:
    return EventFeed(LocalCluster(), trail or Trail())


def turn(number: int) -> TurnStarted:
    return TurnStarted(DEVICE, "s", 0.0, number, "hello")


async def batch(watch: Watch) -> Batch:
    found = await watch.next(LONG_S)
    assert found is not None
    return found


async def types(watch: Watch) -> list[str]:
    return [entry.type for entry, _ in (await batch(watch)).seen]


async def turns(watch: Watch) -> list[int]:
    return [entry.fields["turn"] for entry, _ in (await batch(watch)).seen]


async def test_what_happens_is_seen_in_order() -> None:
    feed = made()
    feed(SessionOpened(DEVICE, "s", 0.0))
    watch = await feed.watch()
    first = await batch(watch)
    assert (first.seen, first.missed) == ([], False), "what was before is not seen"
    feed(StateChanged(DEVICE, "s", 0.0, "idle", "listening"))
    feed(turn(1))
    found = await batch(watch)
    assert [entry.type for entry, _ in found.seen] == ["state", "turn.started"]
    state, started = (entry for entry, _ in found.seen)
    assert state.fields == {"session_id": "s", "before": "idle", "after": "listening"}
    assert (started.fields, started.words) == ({"session_id": "s", "turn": 1}, {"text": "hello"})
    assert started.device_id == DEVICE
    assert not found.missed
    assert found.id == found.seen[-1].id


async def test_who_comes_back_goes_on_where_it_was() -> None:
    feed = made()
    watch = await feed.watch()
    for number in range(1, 4):
        feed(turn(number))
    await batch(watch)
    ids = [each.id for each in (await batch(watch)).seen]
    watch.close()
    feed(turn(4))
    for known in range(1, 4):
        again = await feed.watch(parse(ids[known - 1]))
        assert await turns(again) == []
        assert await turns(again) == [*range(known + 1, 5)]
        again.close()


async def test_nobody_watches_and_a_return_shows_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = made()
    watch = await feed.watch()
    feed(turn(1))
    await batch(watch)
    known = (await batch(watch)).id
    monkeypatch.setattr(feeds, "LINGER_S", 0.0)
    watch.close()
    for _ in range(3):  # the timer that is due
        await asyncio.sleep(0)
    feed(turn(2))
    assert feed.log.end == 1, "an event that nobody wants is not kept"
    again = await feed.watch(parse(known))
    assert (await batch(again)).missed
    feed(turn(3))
    found = await batch(again)
    assert [entry.fields["turn"] for entry, _ in found.seen] == [3]
    assert not found.missed, "it was told already"


async def test_another_servers_id_is_a_gap() -> None:
    feed = made()
    watch = await feed.watch({"cafe": 3, "changes": 0})
    assert (await batch(watch)).missed
    feed(turn(1))
    assert await turns(watch) == [1]


async def test_a_slow_reader_misses_the_oldest_and_is_told() -> None:
    feed = made()
    watch = await feed.watch()
    await batch(watch)
    for number in range(1, 2_051):
        feed(turn(number))
    found = await batch(watch)
    assert found.missed
    assert found.seen[0].entry.fields["turn"] == 51
    seen = list(found.seen)
    while len(seen) < 2_000:
        found = await batch(watch)
        assert not found.missed
        seen += found.seen
    assert seen[-1].entry.fields["turn"] == 2_050


async def test_the_audit_trail_is_a_part_of_it_and_goes_back_further() -> None:
    trail = Trail(3)
    feed = made(trail)
    watch = await feed.watch()
    first = await batch(watch)
    assert first.seen == []
    trail.add(feed)
    found = await batch(watch)
    assert [entry.number for entry, _ in found.seen] == [4]
    assert found.seen[0].entry.device_id == DEVICE
    watch.close()
    trail.length = 7  # written while this process did not look
    again = await feed.watch(parse(found.id))
    feed.changed([change(5), change(6), change(7)])
    trail.add(feed)
    assert await numbers(again) == [5, 6, 7]
    assert await numbers(again) == [8], "each once"
    older = await feed.watch({**parse(first.id)})
    assert await numbers(older) == [4, 5, 6, 7, 8]


async def numbers(watch: Watch) -> Sequence[int]:
    return [entry.number for entry, _ in (await batch(watch)).seen]


async def test_a_restored_backup_has_a_shorter_trail() -> None:
    feed = made(Trail(3))
    watch = await feed.watch({"changes": 9})
    found = await batch(watch)
    assert found.missed
    assert parse(found.id)["changes"] == 3


async def test_the_number_of_watchers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MAX_WATCHES", 2)
    feed = made()
    watches = [await feed.watch(), await feed.watch()]
    with pytest.raises(TooManyWatches):
        await feed.watch()
    watches[0].close()
    watches[0].close()
    await feed.watch()


@pytest.mark.parametrize("before", [0, 1])
async def test_a_process_that_has_told_nothing_is_no_gap(before: int) -> None:
    """Who watches at one process goes on at another one, which has heard nothing of the first."""
    async with two_workers() as (here, there):
        one, other = EventFeed(here, Trail()), EventFeed(there, Trail())
        for _ in range(before):
            one(turn(0))  # wanted by nobody
        watch = await one.watch()
        other(turn(1))
        await until(lambda: one.log.end)
        await batch(watch)
        known = (await batch(watch)).id
        watch.close()
        other(turn(2))
        again = await other.watch(parse(known))
        first = await batch(again)
        assert (first.seen, first.missed) == ([], False)
        assert await turns(again) == [2]
        again.close()


async def test_the_end_of_the_server_ends_all() -> None:
    feed = made()
    watch = await feed.watch()
    await batch(watch)
    feed.close()
    assert await watch.next(LONG_S) is None
    watch.close()
    feed(turn(1))
    assert feed.log.end == 0


async def test_nothing_happens() -> None:
    watch = await made().watch()
    await batch(watch)
    found = await watch.next(0.0)
    assert found is not None
    assert found.seen == []
    assert parse(found.id)["changes"] == 0


@pytest.mark.parametrize(
    "text", ["", "a", "a:", ":1", "a:1.", "a:1;b:2", "A:1", "a:-1", "a:1" + ".b:2" * 100, "a:1\n"]
)
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(ValueError, match="no id"):
        parse(text)


def test_an_id_is_read_back() -> None:
    position: Position = {"0a1b2c3d": 0, "changes": 17}
    assert parse(dump(position)) == position


@on_virtual_time
async def test_what_comes_in_numbers_comes_together() -> None:
    feed = made()
    watch = await feed.watch()
    await batch(watch)
    begun = now()
    feed(turn(1))
    assert await turns(watch) == [1]
    assert now() == begun, "what comes alone comes at once"
    feed(turn(2))
    asyncio.get_running_loop().call_later(PAUSE_S / 2, feed, turn(3))
    assert await turns(watch) == [2, 3]
    assert now() - begun == pytest.approx(PAUSE_S)
    for number in range(BATCH + 1):
        feed(turn(number))
    assert await turns(watch) == list(range(BATCH))
    assert now() - begun == pytest.approx(PAUSE_S), "a full batch does not wait"
