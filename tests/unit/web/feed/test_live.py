"""What each connected device does: kept by its process, gathered from all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.cluster_members import Members, members
from tests.support.waiting import until
from vixio.core.cluster import Cluster, Lease, LossReason
from vixio.core.commands import Command, CommandResult, CommandStatus, Custom
from vixio.core.local_cluster import LocalCluster
from vixio.core.session.events import (
    FinalTranscript,
    SessionClosed,
    SessionOpened,
    SpeechInterrupted,
    SpeechPlayed,
    SpeechSentence,
    StateChanged,
    TurnStarted,
)
from vixio.core.session.session import Session
from vixio.web.feed.live import (
    COMMAND,
    MAX_CHARS,
    MAX_REPORTED,
    MAX_WORDS_BYTES,
    TOPIC,
    Live,
    LiveBoard,
    LiveDevices,
    merged,
)

__all__ = ["members"]

KITCHEN, BATH = "02:00:00:00:00:01", "02:00:00:00:00:02"
MAX_MESSAGE = 1024 * 1024


def opened(*device_ids: str, session: str = "s") -> LiveBoard:
    """Return a board to which these devices are connected."""
    board = LiveBoard()
    for device_id in device_ids:
        board(SessionOpened(device_id, session, 0.0))
    return board


def live(board: LiveBoard, device_id: str = KITCHEN) -> Live:
    found = Live.from_json(board.find(device_id))
    assert found is not None
    return found


def test_a_board_shows_the_state_and_the_last_words() -> None:
    board = opened(KITCHEN)
    first = live(board)
    assert (first.state, first.session_id, first.heard, first.said) == ("idle", "s", "", "")
    assert first.since > 1_700_000_000_000
    board(StateChanged(KITCHEN, "s", 0.0, "idle", "listening"))
    board(FinalTranscript(KITCHEN, "s", 0.0, 1, "how  warm\nis it", understood=True))
    board(FinalTranscript(KITCHEN, "s", 0.0, 2, "", understood=False))
    board(TurnStarted(KITCHEN, "s", 0.0, 3, ""))
    assert (live(board).state, live(board).heard) == ("listening", "how warm is it")
    board(SpeechSentence(KITCHEN, "s", 0.0, 1, "One moment.", filler=True))
    assert live(board).said == ""
    board(SpeechSentence(KITCHEN, "s", 0.0, 1, "It is warm."))
    assert live(board).said == "It is warm."
    board(SpeechPlayed(KITCHEN, "s", 0.0, 1, "It is warm. It is dry."))
    assert live(board).said == "It is warm. It is dry."
    board(SpeechInterrupted(KITCHEN, "s", 0.0, 2, "It", "abort"))
    assert live(board).said == "It"
    board(FinalTranscript(KITCHEN, "s", 0.0, 4, "x" * 9_000, understood=True))
    assert len(live(board).heard) == MAX_CHARS


def test_a_session_that_was_replaced_changes_nothing() -> None:
    board = opened(KITCHEN, session="old")
    board(SessionOpened(KITCHEN, "new", 0.0))
    board(StateChanged(KITCHEN, "old", 0.0, "idle", "speaking"))
    board(SessionClosed(KITCHEN, "old", 0.0, 1.0))
    assert (live(board).session_id, live(board).state) == ("new", "idle")
    board(SessionClosed(KITCHEN, "new", 0.0, 1.0))
    assert board.find(KITCHEN) is None
    board(StateChanged(KITCHEN, "new", 0.0, "idle", "speaking"))
    assert board.all() == {}


@pytest.mark.parametrize("character", ["x", "水", '"'])
def test_a_report_fits_in_a_message_with_the_latest_devices(character: str) -> None:
    ids = [f"02:00:00:00:{number // 256:02x}:{number % 256:02x}" for number in range(4_000)]
    board = opened(*ids, session="0123456789abcdef0123456789abcdef")
    for device_id in ids:
        board(TurnStarted(device_id, live(board, device_id).session_id, 0.0, 1, character * 900))
    report = board.report()[TOPIC]
    assert len(json.dumps(report, ensure_ascii=False).encode()) < MAX_MESSAGE
    assert len(report) == MAX_REPORTED
    assert set(report) == set(ids[-MAX_REPORTED:])
    assert report[ids[-1]][4].startswith(character * 100)
    assert report[ids[-MAX_REPORTED]][4] == ""
    words = sum(len(row[4].encode()) for row in report.values())
    assert MAX_WORDS_BYTES / 2 < words <= MAX_WORDS_BYTES


def test_what_is_no_report_is_left_out() -> None:
    row = ["idle", 5, "s", "udp", "", "", False]
    reports: Sequence[Mapping[str, Any]] = [{TOPIC: {KITCHEN: row}}, {}, {TOPIC: ["no", "rows"]}]
    assert merged(reports) == {KITCHEN: row}
    assert Live.from_json(row) == Live("idle", 5, "s", "udp", awake=False)
    for wrong in (None, [], ["idle", "5", "s", "udp", "", "", True], {"state": "idle"}):
        assert Live.from_json(wrong) is None


def serving(cluster: Cluster, board: LiveBoard) -> LiveDevices:
    """Have a process of a cluster answer for its board."""

    async def carry_out(device_id: str, command: Command) -> CommandResult:
        assert command == Custom(COMMAND)
        session = cast("Session", SimpleNamespace(device_id=device_id))
        return CommandResult(CommandStatus.DONE, await board.answer(session, {}))

    cluster.commands.serve(carry_out)
    return LiveDevices(board, cluster)


async def lost(_reason: LossReason) -> None:
    """End the session of a lease."""


async def test_every_process_knows_the_devices_of_all(members: Members) -> None:
    one, two = members
    boards = [opened(KITCHEN), opened(BATH)]
    if one is two:
        boards = [opened(KITCHEN, BATH)] * 2
    devices = [serving(one, boards[0]), serving(two, boards[1])]
    leases: list[Lease] = [
        await one.leases.acquire(KITCHEN, lost),
        await two.leases.acquire(BATH, lost),
    ]
    boards[1](StateChanged(BATH, "s", 0.0, "idle", "thinking"))
    for each in devices:
        rows = await each.all()
        assert {KITCHEN, BATH} <= rows.keys()
        assert Live.from_json(rows[BATH]) == live(boards[1], BATH)
        assert await each.one(BATH) == live(boards[1], BATH)
        assert await each.one(KITCHEN) == live(boards[0])
        assert await each.one("02:00:00:00:00:77") is None
    for lease in leases:
        await lease.release()


class Gathering:
    """Stands in for the presence of several processes: each answer waits for the test."""

    def __init__(self) -> None:
        self.asked = 0
        self.board = opened(KITCHEN)
        self.answering = asyncio.Semaphore(0)

    def publish(self, status: object, *, topic: str) -> None:
        """Take no note of it."""

    async def members(self, topic: str) -> Sequence[Mapping[str, Any]]:
        """Return the board as it is when it is asked for."""
        self.asked += 1
        report = {TOPIC: {key: list(row) for key, row in self.board.all().items()}}
        await self.answering.acquire()
        return [report]


async def test_all_who_wait_share_one_question_that_comes_after_theirs() -> None:
    presence, cluster = Gathering(), LocalCluster()
    cluster.presence, cluster.shared = cast("Any", presence), True
    devices = LiveDevices(presence.board, cluster)
    first = asyncio.create_task(devices.all())
    await until(lambda: presence.asked, what="the first question")
    presence.board(StateChanged(KITCHEN, "s", 0.0, "idle", "speaking"))
    later = [asyncio.create_task(devices.all()) for _ in range(20)]
    await asyncio.sleep(0)
    given_up = later.pop()
    given_up.cancel()
    presence.answering.release()
    assert (await first)[KITCHEN][0] == "idle"
    presence.answering.release()
    assert {rows[KITCHEN][0] for rows in await asyncio.gather(*later)} == {"speaking"}
    assert presence.asked == 2
    presence.answering.release()
    assert (await devices.all())[KITCHEN][0] == "speaking"
