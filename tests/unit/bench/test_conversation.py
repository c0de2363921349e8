"""The benchmark of conversations: what it judges, its marks, and a short run of its parts."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firmware_test_client import Reply, Sentence
from firmware_test_client.playout import Heard
from vixio_bench.conversation import over, play
from vixio_bench.conversation.echoes import Echoed, echoes
from vixio_bench.conversation.heard import (
    HZ_A_SECOND,
    LETTER_S,
    LOWEST_HZ,
    STORY,
    Course,
    Made,
    course,
    subtitles,
)
from vixio_bench.conversation.marks import Figures, echo_marks, marks, over_marks, trouble_marks
from vixio_bench.conversation.network import Network, Relay
from vixio_bench.conversation.over import (
    FREE,
    PAUSED,
    WAYS,
    Interjection,
    Over,
    interjections,
    play_over,
)
from vixio_bench.conversation.play import Outcome, Played, judge
from vixio_bench.conversation.report import main
from vixio_bench.conversation.situations import Situation, situations
from vixio_bench.conversation.tables import echo_table, over_table, table, trouble_table
from vixio_bench.conversation.troubles import Survived, Trouble, play_troubles, troubles

SILENT = np.zeros(0, np.float32)
COMMAND = Situation("known", "turn it up", SILENT, "turn it up")
COUGH = Situation("cough", "cough", SILENT, "")
OTHERS = Situation("others", "turn it up", SILENT, None, 3.0)
OTHER = Situation("other", "a long day", SILENT, None)


def reply(start: float, stt: str = "turn it up", first_audio: float | None = None) -> Reply:
    return Reply(0, start, stt=stt, first_audio=start + 0.2 if first_audio is None else first_audio)


def test_an_answer_is_judged_by_its_words_and_its_time() -> None:
    good = judge(COMMAND, 10.0, [reply(10.4, "Turn it up.")])
    assert (good.right, good.cut) == (True, False)
    assert good.response_ms == pytest.approx(600)
    assert not judge(COMMAND, 10.0, [reply(10.4, "turn it down")]).right
    assert not judge(COMMAND, 10.0, []).right
    early = judge(COMMAND, 10.0, [reply(9.9)])
    assert (early.right, early.cut, early.response_ms) == (False, True, None)
    twice = judge(COMMAND, 10.0, [reply(10.1), reply(14.0)])
    assert (twice.right, twice.cut) == (False, True)


def test_a_cough_wants_no_answer_and_other_speech_wants_any() -> None:
    assert judge(COUGH, 1.0, []).right
    assert not judge(COUGH, 1.0, [reply(2.0)]).right
    assert judge(OTHER, 1.0, [reply(2.0, "")]).right
    assert not judge(OTHER, 1.0, []).right


def figures(outcomes: list[Outcome], dropped: int = 0) -> Figures:
    return Figures(Played(tuple(outcomes), {"turn.ahead": 9, "turn.ahead_dropped": dropped}))


GOOD = Outcome(COMMAND, 540.0, cut=False, right=True, clipped_ms=0.0, gap_ms=0.0)
QUIET = Outcome(COUGH, None, cut=False, right=True, clipped_ms=0.0, gap_ms=0.0)
AMONG = Outcome(OTHERS, 1_700.0, cut=False, right=True, clipped_ms=0.0, gap_ms=0.0, turn_ms=1_400.0)
BEFORE = [replace(GOOD, response_ms=820.0), replace(AMONG, response_ms=4_500.0), QUIET]


def missed(on: list[Outcome], dropped: int = 0, off: list[Outcome] | None = None) -> list[str]:
    found = marks(figures(BEFORE if off is None else off), figures(on, dropped))
    return [words for words, met in found if not met]


def test_each_mark_can_be_missed() -> None:
    assert not missed([GOOD, AMONG, QUIET])
    for on, dropped, words in (
        ([replace(GOOD, response_ms=561.0), AMONG, QUIET], 0, "answered within"),
        ([replace(GOOD, cut=True), AMONG, QUIET], 0, "cut off"),
        ([replace(GOOD, response_ms=1_000.0), AMONG, QUIET], 0, "answered later"),
        ([GOOD, AMONG, QUIET], 2, "in vain"),
        ([GOOD, replace(AMONG, turn_ms=1_501.0), QUIET], 0, "among others"),
        ([GOOD, replace(AMONG, turn_ms=None), QUIET], 0, "among others"),
        ([replace(GOOD, clipped_ms=60.0), AMONG, QUIET], 0, "clipped"),
        ([GOOD, AMONG, replace(QUIET, right=False)], 0, "cough"),
    ):
        assert any(words in line for line in missed(on, dropped)), words


def test_nothing_is_reached_where_nothing_was_measured() -> None:
    assert len(missed([], off=[])) == len(marks(figures([]), figures([])))


def test_there_are_enough_situations_and_the_same_for_the_same_seed() -> None:
    first = situations(1)
    assert len(first) >= 80
    assert {each.group for each in first} == {
        *("known", "hesitating", "slow", "quick", "noise", "others", "other", "cough")
    }
    assert [len(each.sound) for each in situations(1, limit=2)] == pytest.approx(
        [len(each.sound) for each in situations(1, limit=2)], rel=0.05
    )
    for each in first:
        assert 0.05 < float(np.abs(each.sound).max()) <= 1.0, each.name


@pytest.mark.slow
def test_a_short_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "ANSWER_S", 60.0)  # the machine may be busy
    file = tmp_path / "conversation.json"
    main(["--only", "said", "--limit", "1", "--devices", "8", "--json", str(file)])
    shown = capsys.readouterr().out
    assert "| known | 1 |" in shown
    found = json.loads(file.read_text(encoding="utf-8"))
    for way in ("off", "on"):
        assert [each["group"] for each in found[way]] == [
            *("known", "hesitating", "slow", "quick", "noise", "others", "other", "cough")
        ]
        known, cough = found[way][0], found[way][-1]
        assert known["response_ms"] > known["turn_ms"] > 0
        assert cough["response_ms"] is None


@pytest.mark.slow
async def test_a_speech_ends_or_goes_on_as_the_words_over_it_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(over, "WAIT_S", 120.0)
    users = await asyncio.to_thread(interjections, 1, 1)
    stop, command, mhm, *nothing = await play_over(WAYS[-1], users, len(users), lambda: None)
    assert stop.interrupted
    assert command.interrupted
    assert command.answered
    assert (mhm.course.whole, mhm.interrupted) == (True, False)
    assert mhm.course.pauses >= 1  # more where the machine stops the voice in between
    for each in nothing:
        assert each.course.whole
        assert not each.interrupted


@pytest.mark.slow
async def test_troubles_cost_a_turn_at_most() -> None:
    happens = troubles(1)
    for each in await play_troubles(happens, len(happens), lambda: None):
        assert each.after
        assert each.lost <= 1


def test_the_table_has_a_line_for_each_kind() -> None:
    text = table(figures(BEFORE), figures([GOOD, AMONG, QUIET]))
    assert "| known | 1 | 820 ms, 820 ms | 540 ms, 540 ms | 0 | 0 | 1 | 1 |" in text
    assert "| cough | 1 | –, – | –, – | 0 | 0 | 1 | 1 |" in text


STOP = Interjection("stop", "stop", SILENT, "stops", 1)
MHM = Interjection("mhm", "mhm", SILENT, "goes on", 2)
CUT = Course(10.0, None, 0, 0.0, 0.0, whole=False)
WENT_ON = Course(10.0, 0.0, 1, 0.0, 0.0, whole=True)
STOPPED = Over(STOP, 200.0, 150.0, interrupted=True, answered=False, course=CUT)
LISTENED = Over(MHM, 200.0, 150.0, interrupted=False, answered=False, course=WENT_ON)


def over_missed(*found: Over, way: str = FREE) -> list[str]:
    return [words for words, met in over_marks(way, found) if not met]


def test_each_mark_of_what_is_said_over_a_speech_can_be_missed() -> None:
    assert not over_missed(STOPPED, LISTENED)
    for found, words in (
        ((replace(STOPPED, interrupted=False), LISTENED), "missed"),
        ((replace(STOPPED, silence_ms=None), LISTENED), "missed"),
        ((STOPPED, replace(LISTENED, interrupted=True)), "ended by nothing"),
        ((STOPPED, replace(LISTENED, course=replace(WENT_ON, whole=False))), "ended by nothing"),
        ((replace(STOPPED, silence_ms=500.0), LISTENED), "voice to silence"),
        ((STOPPED, replace(LISTENED, course=replace(WENT_ON, resumed_ms=-60.0))), "goes on within"),
        ((STOPPED, replace(LISTENED, course=replace(WENT_ON, missing_ms=60.0))), "clipped"),
        ((STOPPED, replace(LISTENED, course=replace(WENT_ON, repeated_ms=60.0))), "clipped"),
        ((STOPPED, replace(LISTENED, subtitles_ms=(150.0, -201.0))), "from their sound"),
    ):
        assert any(words in line for line in over_missed(*found)), words
    assert len(over_missed()) == len(over_marks(FREE, []))
    assert not over_marks(PAUSED, [])
    cough = replace(LISTENED, said=replace(MHM, group="cough"))
    assert over_missed(STOPPED, replace(cough, interrupted=True), way="default set")
    assert not over_missed(STOPPED, cough, replace(LISTENED, interrupted=True), way="default set")
    assert f"| {FREE}: mhm | 1 | 0 | 0 |" in over_table({FREE: [STOPPED, LISTENED]})


def test_each_mark_of_an_echo_can_be_missed() -> None:
    users = [
        Echoed(each, itself=False, heard=bool(each.user), silence_ms=250.0 if each.user else None)
        for each in echoes()
    ]
    assert not [words for words, met in echo_marks(users) if not met]
    loud = next(index for index, each in enumerate(users) if each.echo.user)
    for wrong, words in (
        (replace(users[0], itself=True), "interrupt themselves"),
        (replace(users[loud], heard=False), "-12 dB"),
    ):
        found = [wrong if each.echo is wrong.echo else each for each in users]
        assert [words in line for line, met in echo_marks(found) if not met] == [True], words
    for missed, met in ((1, True), (2, False)):
        soft = [each for each in users if each.echo.user and each.echo.echo_db == -6][:missed]
        found = [replace(each, heard=False) if each in soft else each for each in users]
        assert all(each for _, each in echo_marks(found)) == met
    assert not any(met for _, met in echo_marks([]))
    assert "| user over -6 dB | 20 | 0 | 20 | 250 ms, 250 ms |" in echo_table(users)


SURVIVED = Survived(Trouble("abort", "speaking"), 0, True, 300.0, 0.0, 0.0, ())


def test_each_mark_of_troubles_can_be_missed() -> None:
    def unmet(found: Survived) -> list[str]:
        return [words for words, met in trouble_marks([found]) if not met]

    assert not unmet(replace(SURVIVED, lost=1))
    for found, words in (
        (replace(SURVIVED, lost=2), "one turn"),
        (replace(SURVIVED, after=False), "one turn"),
        (replace(SURVIVED, clipped_ms=60.0), "clipped"),
        (replace(SURVIVED, wrong=("unknown message",)), "must not send"),
    ):
        assert any(words in line for line in unmet(found)), words
    assert not any(met for _, met in trouble_marks([]))
    assert "| abort | speaking | 0 | yes | 300 ms | 0 ms | 0 ms |" in trouble_table([SURVIVED])


def tone(place: float, at: float, reply: int = 0) -> Heard:
    """Return 60 ms of the story from ``place`` (seconds) on, played at ``at``."""
    time = place + np.arange(1_440) / 24_000
    sound = np.sin(2 * np.pi * (LOWEST_HZ * time + HZ_A_SECOND / 2 * time**2))
    return Heard(at, 0.06, (6_000 * sound).astype("<i2").tobytes(), 24_000, reply)


def told(*places: int, begin: float = 0.0) -> list[Heard]:
    return [tone(place * 0.06, begin + index * 0.06) for index, place in enumerate(places)]


def test_what_was_heard_of_a_story_is_known_to_the_packet() -> None:
    made = Made(told(*range(50)))
    whole = course(made, told(*range(50)), 0.5)
    assert whole is not None
    assert (whole.whole, whole.pauses, whole.missing_ms, whole.repeated_ms) == (True, 0, 0, 0)
    for first, gone_on, moved, missing, repeated in (
        (20, 20, 0, 0, 0),
        (20, 21, 60, 60, 0),
        (20, 18, -120, 0, 120),
    ):
        heard = [*told(*range(first)), *told(*range(gone_on, 50), begin=3.0)]
        found = course(made, heard, 1.0)
        assert found is not None
        assert found.silent_at == pytest.approx(1.2)
        assert (found.resumed_ms, found.missing_ms) == pytest.approx((moved, missing))
        assert found.repeated_ms == pytest.approx(repeated)
        assert found.whole
    noise = np.random.default_rng(1).integers(-9_000, 9_000, 1_440).astype("<i2").tobytes()
    other = [Heard(5.0, 0.06, noise, 24_000, 1), Heard(5.1, 0.06, bytes(2_880), 24_000, 1)]
    assert course(made, other, 0.0) is None
    cut = course(made, [*told(*range(30)), *other], 1.5)
    assert cut is not None
    assert not cut.whole
    assert cut.silent_at == pytest.approx(1.8)


def test_a_sentence_of_the_story_is_laid_beside_its_sound() -> None:
    second = STORY.index("In the evenings")
    begin = int(second * LETTER_S / 0.06) + 1
    heard = told(*range(begin + 20))
    shown = [
        Sentence(STORY[: second - 1], -0.16),
        Sentence(STORY[second:], begin * 0.06 - 0.1),
        Sentence("Something else.", 9.0),
    ]
    assert subtitles(heard, shown) == pytest.approx([160, 100])


async def test_a_network_makes_late_and_loses_nothing() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    network = Network(delay=0.03, jitter=0.02, loss=0.3)
    async with server, Relay(f"ws://127.0.0.1:{port}/x", network) as relay:
        host, _, there = relay.url.removeprefix("ws://").removesuffix("/x").partition(":")
        reader, writer = await asyncio.open_connection(host, int(there))
        clock = asyncio.get_running_loop().time
        began = clock()
        relay.stall("down", 0.2)
        for number in range(50):
            writer.write(bytes([number]))
            await asyncio.sleep(0)
        async with asyncio.timeout(60):
            assert await reader.readexactly(50) == bytes(range(50))
        assert clock() - began >= 0.2
        relay.reset()
        async with asyncio.timeout(60):
            with suppress(ConnectionError):
                assert not await reader.read()
        writer.transport.abort()


def test_there_are_enough_interruptions_and_troubles() -> None:
    users = interjections(1)
    wanted = [each for each in users if each.wanted != "goes on"]
    assert len(wanted) == 20
    assert {each.group for each in users} == {"stop", "command", "mhm", "cough", "nothing"}
    numbers = [each.number for each in users if each.number is not None]
    assert len(set(numbers)) == len(numbers)
    assert len({each.name for each in WAYS}) == len(WAYS) == 3
    assert (
        {each.group for each in troubles()}
        == {each.group for each in troubles(1)}
        == {"abort", "spoken over", "provider", "network"}
    )
