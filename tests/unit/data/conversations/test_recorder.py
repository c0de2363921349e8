"""Turns are put on record as they were, and removed when they are old."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.registry_databases import Make
from vixio.cli.commands import main
from vixio.core.metrics import Counters, ModelUse, ToolTiming, TurnTimeline
from vixio.core.session.events import (
    Event,
    Failure,
    FinalTranscript,
    SessionClosed,
    SpeechInterrupted,
    SpeechPlayed,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from vixio.core.wall_clock import now_ms
from vixio.data.conversations import recorder as recorder_module
from vixio.data.conversations.recorder import DAY_MS, MAX_OPEN, TurnRecorder
from vixio.data.conversations.records import MAX_TOOL_WORDS, MAX_WORDS, TurnRecord
from vixio.data.conversations.repository import PART, ConversationRepository, Turns
from vixio.data.database.create import make_database
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.devices.repository import DeviceRepository

KITCHEN = "02:00:00:00:00:01"
WHO = (KITCHEN, "s", 0.0)


def timeline(turn: int, outcome: str = "answered") -> TurnTimeline:
    """Return the record of a turn of two seconds, with a tool and a model."""
    made = TurnTimeline(turn, outcome=outcome)
    for name, at in (("turn_end", 10.0), ("transcript", 10.05), ("playout_end", 12.0)):
        made.mark(name, at)
    made.tools.append(ToolTiming("set_volume", 0.02, success=True, source="device"))
    made.models.append(ModelUse("openai/m", 20, 5))
    return made


def turn(number: int, outcome: str = "answered") -> list[Event]:
    """Return the events of a spoken turn."""
    return [
        FinalTranscript(*WHO, number, "turn it up", understood=True),
        TurnStarted(*WHO, number, "turn it up"),
        ToolStarted(*WHO, number, "c1", "set_volume", '{"volume": 80}'),
        ToolEnded(*WHO, number, "c1", "set_volume", "x" * 9_000, success=True, seconds=0.02),
        SpeechPlayed(*WHO, number, "It is louder."),
        TurnEnded(*WHO, number, timeline(number, outcome)),
    ]


async def recorded(make: Make, events: list[Event], **options: float) -> list[TurnRecord]:
    """Record events, and return the turns of the session."""
    link: Link[Database] = Link(make, name="test-turns")
    counters = Counters()
    recorder = TurnRecorder(
        link,
        counters,
        options.get("keep_days", 30),
        {KITCHEN: "family"}.__getitem__,
        lambda device: 0,
    )
    for event in events:
        recorder(event)
    assert len(recorder._open) == options.get("left", 0)
    await recorder.caught_up()
    await recorder.prune()
    await recorder.close()
    await link.close()
    assert not counters.get("conversations.lost")
    database = make()
    await database.open()
    found = list(await ConversationRepository(database).turns(Turns.of_session("s")))
    await database.close()
    return found


async def test_a_turn_is_recorded_with_its_times_tools_and_models(make: Make) -> None:
    (found,) = await recorded(make, turn(1))
    assert (found.heard, found.said, found.outcome) == ("turn it up", "It is louder.", "answered")
    assert found.stages == {"turn_end": 0, "transcript": 50, "playout_end": 2000}
    (tool,) = found.tools
    assert len(tool.pop("output")) == MAX_TOOL_WORDS
    assert tool == {
        "name": "set_volume",
        "source": "device",
        "arguments": '{"volume": 80}',
        "success": True,
        "error": "",
        "ms": 20,
    }
    assert found.models[0]["model"] == "openai/m"
    assert found.models[0]["input_tokens"] == 20
    assert found.profile == "family"
    assert 0 <= now_ms() - found.at < DAY_MS


async def test_a_cut_answer_and_a_failure(make: Make) -> None:
    cut = TurnEnded(*WHO, 2, timeline(2, "interrupted:voice"))
    failed = TurnEnded(*WHO, 3, timeline(3, "failed:agent"))
    found = await recorded(
        make,
        [
            *turn(1),
            SpeechInterrupted(*WHO, 2, "It is", "voice"),
            cut,
            Failure(*WHO, 3, "agent", "no_key", "openai: the key is refused"),
            failed,
            *turn(1),  # written once
        ],
    )
    assert [(each.turn, each.said, each.outcome, each.error) for each in found] == [
        (1, "It is louder.", "answered", ""),
        (2, "It is", "interrupted:voice", ""),
        (3, "", "failed:agent", "openai: the key is refused"),
    ]


async def test_what_was_heard_of_declined_words_is_kept_apart(make: Make) -> None:
    guess = "what's the battery level"
    (found,) = await recorded(
        make,
        [
            FinalTranscript(*WHO, 1, "", understood=False, guess=guess + "." * 9_000),
            TurnStarted(*WHO, 1, ""),
            SpeechPlayed(*WHO, 1, "Once more?"),
            TurnEnded(*WHO, 1, TurnTimeline(1, outcome="not_understood")),
        ],
    )
    assert (found.heard, found.said, found.outcome) == ("", "Once more?", "not_understood")
    assert found.guess.startswith(f"{guess}.")
    assert len(found.guess) == MAX_WORDS


async def test_what_became_no_turn_is_dropped(make: Make) -> None:
    noise = [FinalTranscript(*WHO, number, "hm", understood=True) for number in range(9)]
    assert await recorded(make, [*noise], left=9) == []
    assert await recorded(make, [*noise, SessionClosed(*WHO, 1.0)]) == []
    many = [FinalTranscript(*WHO, number, "hm", understood=True) for number in range(MAX_OPEN + 5)]
    assert await recorded(make, [*many], left=MAX_OPEN) == []


async def test_old_turns_go(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    long_ago = now_ms() - 3 * DAY_MS
    with monkeypatch.context() as patch:
        patch.setattr(recorder_module, "now_ms", lambda: long_ago)
        assert len(await recorded(make, turn(1), keep_days=2)) == 1
    assert len(await recorded(make, turn(3), keep_days=4)) == 2
    assert [each.turn for each in await recorded(make, turn(2), keep_days=2)] == [3, 2]


async def test_conversations_are_listed_and_erased(make: Make) -> None:
    database = make()
    await database.open()
    repository, devices = ConversationRepository(database), DeviceRepository(database)
    await repository.write(
        [
            TurnRecord(device_id, session, number, at=at)
            for device_id, session, number, at in (
                (KITCHEN, "a", 1, 10),
                (KITCHEN, "a", 2, 20),
                (KITCHEN, "b", 1, 30),
                ("bath", "c", 1, 40),
            )
        ]
    )
    listed = await repository.conversations()
    assert [(each.session_id, each.turns, each.began_at) for each in listed] == [
        ("c", 1, 40),
        ("b", 1, 30),
        ("a", 2, 10),
    ]
    assert [each.session_id for each in await repository.conversations(KITCHEN, limit=1)] == ["b"]
    assert [each.turn for each in await repository.turns(Turns.of_device(KITCHEN))] == [1, 2, 1]
    assert await repository.erase(KITCHEN, "a") == 2
    assert await repository.erase("nobody") == 0
    await devices.add(KITCHEN, "me")
    await devices.forget(KITCHEN, "me")
    assert [each.session_id for each in await repository.conversations()] == ["c"]
    await database.close()


async def test_a_page_of_conversations_reads_no_others(make: Make) -> None:
    database = make()
    await database.open()
    repository = ConversationRepository(database)
    at = iter(range(1_000))
    # Two conversations go on at the same time, so their turns alternate.
    await repository.write(
        [TurnRecord(KITCHEN, name, turn, next(at)) for turn in (1, 2) for name in "ab"]
    )
    await repository.write([TurnRecord("bath", "c", turn, next(at)) for turn in (7, 8, 9)])
    pages = [await repository.conversations(limit=1, offset=offset) for offset in range(4)]
    assert [[(each.session_id, each.turns) for each in page] for page in pages] == [
        [("c", 3)],
        [("b", 2)],
        [("a", 2)],
        [],
    ]
    assert [each.session_id for each in await repository.conversations("bath")] == ["c"]
    await database.close()


async def test_many_turns_are_read_in_parts(make: Make) -> None:
    database = make()
    await database.open()
    repository = ConversationRepository(database)
    # Half of them at the same moment, so that the place within it counts.
    number = PART * 2 + 10
    written = [TurnRecord(KITCHEN, "s", turn, max(turn, PART)) for turn in range(number)]
    await repository.write([*written, TurnRecord("bath", "c", 1, 5)])
    first = await repository.part(Turns.of_device(KITCHEN))
    assert [each.turn for each in first] == list(range(PART))
    second = await repository.part(Turns.of_device(KITCHEN), first[-1])
    assert [each.turn for each in second] == list(range(PART, 2 * PART))
    for turns in (Turns.of_device(KITCHEN), Turns.of_session("s")):
        assert [each.turn for each in await repository.turns(turns)] == list(range(number))
    assert await repository.part(Turns.of_session("s"), written[-1]) == []
    await database.close()


async def test_the_commands(tmp_path: Path) -> None:
    config = tmp_path / "vixio.yaml"
    config.write_text(f"data: {{folder: {tmp_path}}}\n")

    def vixio(*arguments: str) -> tuple[int, str]:
        command, *rest = arguments
        # In a thread: the command has a loop of its own.
        with ThreadPoolExecutor(1) as thread:
            run = thread.submit(CliRunner().invoke, main, [command, "--config", str(config), *rest])
        return run.result().exit_code, run.result().output

    assert vixio("conversations") == (0, "no conversation is on record\n")
    assert vixio("devices", "add", KITCHEN, "--name", "Kitchen")[0] == 0
    await recorded(lambda: make_database(tmp_path, ""), turn(1))
    assert vixio("conversations")[1].splitlines()[1].split()[:2] == ["s", KITCHEN]
    shown = vixio("conversations", "show", "s")[1].splitlines()
    assert shown[0].endswith("turn 1, answered")
    assert shown[1:4] == [
        "  user       turn it up",
        '  calls      set_volume {"volume": 80}, 20 ms',
        "  assistant  It is louder.",
    ]
    assert [line.split("ms")[0].split() for line in shown[4:]] == [
        ["words", "50"],
        ["in", "all", "50"],
    ]
    assert vixio("conversations", "search", "LOUD", "turn")[1].splitlines()[:3] == [
        "Kitchen, conversation s",
        f"  {shown[0]}",
        "    user       turn it up",
    ]
    assert vixio("conversations", "search", "turn", "--outcome", "failed")[1] == "no turn fits\n"
    found = vixio("conversations", "search", "--device", "Kitchen", "--json")[1]
    assert [turn["device_name"] for turn in json.loads(found)] == ["Kitchen"]
    assert json.loads(vixio("conversations", "export", "Kitchen")[1])[0]["said"] == "It is louder."
    for named in ("Kitchen", KITCHEN, KITCHEN[:5].upper()):
        assert len(json.loads(vixio("conversations", "list", named, "--json")[1])) == 1
    assert vixio("conversations", "erase", "Kitchen", "--yes")[1] == (
        f"erased 1 turn of {KITCHEN}\n"
    )
    status, said = vixio("conversations", "show", "s")
    assert status == 2
    assert "no conversation s is on record" in said


async def test_an_id_may_be_given_by_its_beginning(tmp_path: Path) -> None:
    config = tmp_path / "vixio.yaml"
    config.write_text(f"data: {{folder: {tmp_path}}}\n")

    def vixio(*arguments: str) -> tuple[int, str]:
        with ThreadPoolExecutor(1) as thread:
            command = [arguments[0], "--config", str(config), *arguments[1:]]
            run = thread.submit(CliRunner().invoke, main, command)
        return run.result().exit_code, run.result().output

    ids = ("02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:11:00:00:00:0a")
    for each in ids:
        assert vixio("devices", "add", each)[0] == 0
    assert vixio("devices", "rename", "02:11", "Cellar") == (0, f"{ids[2]} is called 'Cellar'\n")
    assert vixio("devices", "block", "02:00:00:00:00:0B")[1] == f"blocked {ids[1]}\n"
    assert vixio("devices", "show", "02:11")[1].startswith(f"id             {ids[2]}\n")
    status, said = vixio("devices", "block", "02:00")
    assert (status, said) == (
        2,
        f"vixio: the ids of 2 devices begin with '02:00': {ids[0]}, {ids[1]}\n",
    )
    for too_short in ("02:", "x", "02%"):
        status, said = vixio("devices", "show", too_short)
        assert (status, "is known: `vixio devices` lists them" in said) == (2, True)

    database = make_database(tmp_path, "")
    await database.open()
    written = [TurnRecord(KITCHEN, session, 1, 1) for session in ("abcd-1", "abcd-2", "ab%d-3")]
    await ConversationRepository(database).write(written)
    await database.close()
    assert "turn 1" in vixio("conversations", "show", "abcd-1")[1]
    assert "turn 1" in vixio("conversations", "show", "ab%d")[1]
    status, said = vixio("conversations", "show", "abcd")
    assert (status, "the ids of 2 conversations begin with 'abcd': abcd-1, abcd-2" in said) == (
        2,
        True,
    )
    assert vixio("conversations", "show", "abc")[0] == 2
