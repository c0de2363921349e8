"""The benchmark of vendors' clients: what it judges, and a short run of its parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vixio.composition.core_speed import CoreSpeed
from vixio_bench.conversation import play
from vixio_bench.conversation.play import Outcome, Played
from vixio_bench.conversation.situations import Situation
from vixio_bench.load.control import Line
from vixio_bench.vendor_times import first_sound, overhead, report
from vixio_bench.vendor_times.first_sound import PARTIAL, WAYS, FirstSound, marks, table
from vixio_bench.vendor_times.overhead import Overhead, Overheads
from vixio_bench.vendor_times.providers import Places, Provider
from vixio_bench.vendor_times.report import main
from vixio_bench.vendor_times.stand_ins import StandInsPlan
from vixio_bench.vendor_times.uses import Seen
from vixio_bench.vendors.base import USUAL, Delays, Times

EARS = Provider("asr", "acme", "quick", "acme", {})
REFERENCE = CoreSpeed(0.9, 1.0)
VOICE = Provider("tts", "acme", "", "acme", {})

SERVICES = (
    *("volcengine", "dashscope", "xunfei", "minimax", "own voices"),
    *("dify", "coze", "fastgpt", "knowledge"),
)


def test_a_plan_survives_its_way_to_the_process() -> None:
    plan = StandInsPlan(Line(1, "t", "stand-ins"), USUAL)
    assert StandInsPlan.from_json(plan.to_json()) == plan


def test_each_provider_of_china_is_there() -> None:
    every = Places(dict.fromkeys(SERVICES, 1)).every()
    assert len({(each.kind, each.title) for each in every}) == len(every)
    assert {(each.kind, each.name) for each in every} == {
        *(("asr", name) for name in ("volcengine", "dashscope", "xunfei")),
        *(("tts", name) for name in ("volcengine", "dashscope", "xunfei", "minimax", "http")),
        *(("agent", name) for name in ("dify", "coze", "openai")),
        *(("knowledge", name) for name in ("ragflow", "dify")),
    }


def test_what_the_service_took_is_not_the_clients() -> None:
    heard = Overhead(EARS)
    seen = Seen(begun=10.0, first=10.103, ended=11.0, last=11.055)
    heard.note(seen, Times(begun=10.001, first=10.101, ended=11.002, last=11.052))
    assert heard.first == pytest.approx([3.0])
    assert heard.total == pytest.approx([5.0])
    said = Overhead(VOICE)
    seen = Seen(begun=20.0, first=20.204, ended=0.0, last=20.408)
    said.note(seen, Times(begun=20.001, first=20.203, last=20.405))
    assert said.first == pytest.approx([2.0])
    assert said.total == pytest.approx([4.0])


def overheads(first: float, total: float, violations: tuple[str, ...] = ()) -> Overheads:
    return Overheads([Overhead(EARS, [first] * 3, [total] * 3)], list(violations), REFERENCE)


def missed(found: list[tuple[str, bool]]) -> list[str]:
    return [words for words, met in found if not met]


def test_each_mark_of_the_overhead_can_be_missed() -> None:
    assert not missed(overheads(4.9, 5.0).marks())
    for slow in (overheads(5.1, 1.0), overheads(1.0, 5.1)):
        (words,) = missed(slow.marks())
        assert words.endswith("0 of 1, not acme quick")
    busy = Overheads(overheads(9.0, 9.0).found, [], CoreSpeed(1.0, 2.0))
    assert not missed(busy.marks())
    assert "too late" in missed(overheads(1.0, 1.0, ("acme: too late",)).marks())[0]
    assert len(missed(Overheads([], [], REFERENCE).marks())) == 1
    silent = Overheads([Overhead(EARS, [], [1.0])], [], REFERENCE)
    assert not missed(silent.marks()), "not every recogniser has partial words"
    assert "| asr | acme quick | – | 1.0, 1.0, 1.0 ms | 1 |" in silent.table()


SAID = Situation("known", "你好", np.zeros(0, np.float32), "你好")


def sound(way: int, response: float | None, partial: int = 0, **options: bool) -> FirstSound:
    right = options.get("right", True)
    outcome = Outcome(SAID, response, False, right, 0.0, 0.0, turn_ms=500.0, voice_end=10.0)
    played = Played((outcome,), {"turn.ahead": 2, PARTIAL: partial})
    return FirstSound(WAYS[way], played, [9.0, 10.2, 10.3], ())


def test_each_mark_of_the_first_sound_can_be_missed() -> None:
    good = [sound(0, 800.0, partial=1), sound(1, 900.0), sound(2, 1_200.0)]
    assert not missed(marks(good))
    assert good[0].asked_ms == pytest.approx([300.0])
    assert "| 800, 800 ms | 500 ms | 300 ms | 2, 1, 0, 0 | 1 of 1 |" in table(good)
    for bad, words in (
        (sound(0, 800.0), "partial words: 0"),
        (sound(0, 901.0, partial=1), "sooner than at the end: x1.00"),
        (sound(0, None, partial=1), "sooner"),
        (sound(0, 800.0, partial=1, right=False), "answered: 2 of 3"),
    ):
        assert any(words in each for each in missed(marks([bad, *good[1:]]))), words


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the speed of the cores nor long delays are of interest."""

    async def unknown(cores: int) -> CoreSpeed:
        return CoreSpeed(1.0, 1.0)

    monkeypatch.setattr(report, "calibrate", unknown)
    monkeypatch.setattr(overhead, "SHORT", Delays(partial=0.03, words=0.01))
    monkeypatch.setattr(play, "ANSWER_S", 60.0)  # the machine may be busy
    monkeypatch.setattr(first_sound, "WAYS", WAYS[:3])


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_short_run_of_each_provider(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "vendors.json"
    main(["--only", "overhead", "--repeat", "1", "--json", str(file)])
    shown = capsys.readouterr().out
    found = json.loads(file.read_text(encoding="utf-8"))
    places = Places(dict.fromkeys(SERVICES, 1))
    every = [*places.bare(), *places.every()]
    assert [(each["kind"], each["provider"]) for each in found["overhead"]] == [
        (each.kind, each.title) for each in every
    ]
    for each in found["overhead"]:
        assert f"| {each['kind']} | {each['provider']} |" in shown
        (total,) = each["total_ms"]
        assert 0 < total < 10_000
        silent = each["provider"].endswith("nostream")
        assert len(each["first_ms"]) == (0 if silent else 1)
    assert "ok   nothing that a client must not do: nothing" in shown


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_short_conversation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "vendors.json"
    main(["--only", "sound", "--turns", "2", "--json", str(file)])
    shown = capsys.readouterr().out
    found = json.loads(file.read_text(encoding="utf-8"))["first_sound"]
    assert [each["way"] for each in found] == ["streaming", "at the end", "at the end, not ahead"]
    for each in found:
        assert each["right"] == len(each["asked_ms"]) == len(each["response_ms"]) == 2
        assert min(each["response_ms"]) > 0
    streaming, whole, late = (each["counters"] for each in found)
    assert streaming["turn.ahead"] >= whole["turn.ahead"] > late["turn.ahead"] == 0
    assert streaming[PARTIAL] > whole[PARTIAL] == late[PARTIAL] == 0
    assert "| volcengine bigmodel_async | streaming | volcengine bidirectional |" in shown
