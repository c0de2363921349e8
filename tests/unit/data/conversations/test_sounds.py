"""What was said is kept as sound, within its bounds, and goes with its turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.registry_databases import Make
from tests.support.waiting import until
from vixio.core.device import Device
from vixio.core.metrics import Counters, TurnTimeline
from vixio.core.session.events import FinalTranscript, SessionClosed, TurnEnded
from vixio.core.wall_clock import now_ms
from vixio.data.backup import registry as backup
from vixio.data.conversations import recorder as recorder_module
from vixio.data.conversations import repository as repository_module
from vixio.data.conversations.recorder import DAY_MS, TurnRecorder
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository, Turns
from vixio.data.conversations.search import TurnQuery, find_turns
from vixio.data.database.create import make_database
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.devices.repository import DeviceRepository

KITCHEN, BATH = "02:00:00:00:00:01", "02:00:00:00:00:02"
SECOND = bytes(range(250)) * 128
DAY = DAY_MS


@asynccontextmanager
async def opened(make: Make) -> AsyncIterator[ConversationRepository]:
    database = make()
    await database.open()
    try:
        yield ConversationRepository(database)
    finally:
        await database.close()


def turn(number: int, device: str = KITCHEN, session: str = "s", at: int = 0) -> TurnRecord:
    return TurnRecord(device, session, number, at or number, heard="turn it up")


def sounds(*turns: TurnRecord, pcm: bytes = SECOND) -> dict[str, bytes]:
    return {each.id: pcm for each in turns}


async def kept(repository: ConversationRepository) -> list[str]:
    async with repository.database.transaction(write=False) as transaction:
        rows = await transaction.fetch("SELECT turn_id FROM turn_sounds ORDER BY at, turn_id")
    return [row["turn_id"] for row in rows]


async def test_a_turn_says_whether_its_sound_is_there(make: Make) -> None:
    first, second = turn(1), turn(2)
    async with opened(make) as repository:
        for _ in range(2):  # once more changes nothing
            assert await repository.write([first, second], sounds(first)) == 0
        read = await repository.turns(Turns.of_session("s"))
        assert [each.sound_ms for each in read] == [1000, 0]
        assert await repository.sound("s", 1) == SECOND
        assert await repository.sound("s", 2) is None
        await DeviceRepository(repository.database).add(KITCHEN, "me")
        assert (await repository.last_turns([KITCHEN]))[KITCHEN].sound_ms == 0
        found = await find_turns(repository.database, TurnQuery(words="turn"))
        assert [each.sound_ms for each, _ in found.turns] == [0, 1000]


ERASED: dict[str, Callable[[ConversationRepository], Awaitable[Any]]] = {
    "alone": lambda repository: repository.erase_sound("s", 1, "me"),
    "with its conversation": lambda repository: repository.erase(KITCHEN, "s"),
    "with all of its device": lambda repository: repository.erase(KITCHEN),
    "with its device": lambda repository: DeviceRepository(repository.database).forget(
        KITCHEN, "me"
    ),
    "with turns that are old": lambda repository: repository.prune(50),
    "as it is old itself": lambda repository: repository.prune_sounds({KITCHEN: 50}),
}


@pytest.mark.parametrize("how", ERASED)
async def test_it_is_erased(make: Make, how: str) -> None:
    one, other = turn(1, at=10), turn(1, BATH, "b", at=60)
    async with opened(make) as repository:
        await DeviceRepository(repository.database).add(KITCHEN, "me")
        await repository.write([one, other], sounds(one, other))
        await ERASED[how](repository)
        assert await kept(repository) == ["b/1"]
        assert not await repository.erase_sound("s", 1, "me")
        words = await repository.turns(Turns.of_session("s"))
        assert len(words) == (how in ("alone", "as it is old itself"))


async def test_nothing_of_it_is_left_in_the_files(tmp_path: Path) -> None:
    one = turn(1)
    async with opened(lambda: make_database(tmp_path, "")) as repository:
        await repository.write([one], sounds(one, pcm=b"\x05utterance" * 9_000))

        def there() -> bool:
            return any(b"\x05utterance" in each.read_bytes() for each in tmp_path.iterdir())

        assert there()
        await repository.erase_sound("s", 1, "me")
        assert not there()
        await repository.write([turn(2)], sounds(turn(2), pcm=b"\x05utterance" * 9_000))
        await repository.erase(KITCHEN)
        assert not there()
        await repository.write([turn(3)], sounds(turn(3), pcm=b"\x05utterance" * 9_000))
        await repository.prune_sounds({KITCHEN: 99})
        assert not there()


async def test_it_is_not_in_a_backup(make: Make) -> None:
    async with opened(make) as repository:
        await repository.write([turn(1)], sounds(turn(1)))
        _, rows = await backup.dump(repository.database)
    assert len(rows["turns"]) == 1
    assert "turn_sounds" not in rows
    assert "turn_sounds" in backup.tables()


async def test_the_oldest_makes_room(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository_module, "MAX_SOUND_BYTES", 3 * len(SECOND))
    turns = [turn(number) for number in range(1, 6)]
    async with opened(make) as repository:
        assert await repository.write(turns[:2], sounds(*turns[:2])) == 0
        assert await repository.write(turns[2:], sounds(*turns[2:])) == 2
        assert await kept(repository) == ["s/3", "s/4", "s/5"]
        assert len(await repository.turns(Turns.of_session("s"))) == 5


class Recording:
    """A recorder on a database. ``days``: for which the sound of a device is kept."""

    def __init__(self, make: Make, days: dict[str, int | None]) -> None:
        self.days = days
        self.asked: list[Device] = []
        self.counters = Counters()
        self.link: Link[Database] = Link(make, name="test-sounds")
        self.recorder = TurnRecorder(self.link, self.counters, 30, lambda _: "", self._days)

    def _days(self, device: Device) -> int | None:
        self.asked.append(device)
        return self.days[device.id]

    def hear(self, number: int, session: str = "s", device: str = KITCHEN) -> None:
        """Hear an utterance."""
        self.recorder.keep_sound(device, session, number, SECOND)
        self.recorder(FinalTranscript(device, session, 0.0, number, "hm", understood=True))

    def end(self, number: int, session: str = "s", device: str = KITCHEN) -> None:
        """End its turn."""
        self.recorder(TurnEnded(device, session, 0.0, number, TurnTimeline(number)))

    async def close(self) -> None:
        """End it."""
        await self.recorder.close()
        await self.link.close()


async def test_sound_is_held_until_its_turn_is_written(make: Make) -> None:
    recording = Recording(make, {})
    recorder = recording.recorder
    recording.hear(1)
    recording.hear(2)
    recording.hear(1, "other")
    recording.end(1)
    recorder(SessionClosed(KITCHEN, "s", 0.0, 1.0))  # the second became no turn
    await recorder.caught_up()
    await until(lambda: len(recorder._sounds) == 1, what="the first to be written")
    assert list(recorder._sounds) == ["other/1"]
    assert recorder._held == len(SECOND)
    await recording.close()
    async with opened(make) as repository:
        assert await kept(repository) == ["s/1"]


async def test_what_is_held_is_bounded(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "MAX_HELD_BYTES", 2 * len(SECOND))
    monkeypatch.setattr(recorder_module, "MAX_OPEN", 4)
    recording = Recording(make, {})
    for number in (1, 2, 3):
        recording.hear(number)
    assert recording.counters.get("sounds.dropped") == 1
    assert list(recording.recorder._sounds) == ["s/2", "s/3"]
    for number in (4, 5, 6):
        recording.recorder(FinalTranscript(KITCHEN, "s", 0.0, number, "hm", understood=True))
    assert list(recording.recorder._sounds) == ["s/3"]
    assert recording.recorder._held == len(SECOND)
    await recording.close()


async def test_a_turn_of_several_utterances_holds_the_last(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "MAX_HELD_BYTES", 2 * len(SECOND))
    recording = Recording(make, {})
    for _ in range(5):
        recording.hear(1)
    assert recording.recorder._held == len(SECOND)
    assert recording.counters.get("sounds.dropped") == 0
    await recording.close()


async def test_the_bound_of_all_is_counted(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository_module, "MAX_SOUND_BYTES", len(SECOND))
    recording = Recording(make, {})
    for number in (1, 2):
        recording.hear(number)
        recording.end(number)
    await recording.close()
    assert recording.counters.get("sounds.dropped") == 1


async def test_it_is_kept_for_as_long_as_the_profile_says_now(make: Make) -> None:
    now = now_ms()
    recent, old = turn(1, at=now - DAY), turn(2, at=now - 5 * DAY)
    bath = turn(1, BATH, "b", at=now - 5 * DAY)
    async with opened(make) as repository:
        await DeviceRepository(repository.database).add(KITCHEN, "me")
        await repository.write([recent, old, bath], sounds(recent, old, bath))
        recording = Recording(make, {KITCHEN: 7, BATH: None})
        recording.recorder.begin()
        await until(lambda: len(recording.asked) == 2, what="the first look")
        assert await kept(repository) == ["b/1", "s/2", "s/1"]

        recording.recorder.look_again()
        await until(lambda: len(recording.asked) == 4, what="another look")

        async def look(days: int, left: list[str]) -> None:
            recording.days[KITCHEN] = days
            await recording.recorder.prune()
            assert await kept(repository) == left

        await look(3, ["b/1", "s/1"])
        await look(0, ["b/1"])  # of the other one, nothing is known yet
        await recording.close()
        assert len(await repository.turns(Turns.of_session("s"))) == 2


async def test_an_hour_later_it_looks_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "PRUNE_S", 0.01)
    recording = Recording(make, {KITCHEN: 1})
    recording.hear(1)
    recording.end(1)
    recording.recorder.begin()
    await until(lambda: len(recording.asked) > 2, what="several looks")
    await recording.close()
