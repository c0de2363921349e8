"""The benchmark of conversations: what it judges, its marks, and a short run of all of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firmware_test_client import Reply
from vixio_bench.conversation import play
from vixio_bench.conversation.play import Outcome, Played, judge
from vixio_bench.conversation.report import Figures, main, marks, table
from vixio_bench.conversation.situations import Situation, situations

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
        *("known", "hesitating", "slow", "noise", "others", "other", "cough")
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
    monkeypatch.setattr(play, "ANSWER_S", 120.0)  # the machine may be busy
    file = tmp_path / "conversation.json"
    main(["--limit", "1", "--devices", "7", "--json", str(file)])
    shown = capsys.readouterr().out
    assert "| known | 1 |" in shown
    found = json.loads(file.read_text(encoding="utf-8"))
    for way in ("off", "on"):
        assert [each["group"] for each in found[way]] == [
            *("known", "hesitating", "slow", "noise", "others", "other", "cough")
        ]
        known, cough = found[way][0], found[way][-1]
        assert known["response_ms"] > known["turn_ms"] > 0
        assert cough["response_ms"] is None


def test_the_table_has_a_line_for_each_kind() -> None:
    text = table(figures(BEFORE), figures([GOOD, AMONG, QUIET]))
    assert "| known | 1 | 820 ms, 820 ms | 540 ms, 540 ms | 0 | 0 | 1 | 1 |" in text
    assert "| cough | 1 | –, – | –, – | 0 | 0 | 1 | 1 |" in text
