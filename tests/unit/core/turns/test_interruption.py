"""Policies of interruption by voice."""

from __future__ import annotations

import pytest

from vixio.core.turns.interruption import (
    ByRecogniser,
    CutAtVoice,
    Decision,
    Overlap,
    PauseAtVoice,
)


@pytest.mark.parametrize("text", ["", "wait", "wait a moment"])
def test_a_cut_is_at_any_voice(text: str) -> None:
    assert CutAtVoice().decide(Overlap(1_000, text)) is Decision.CUT


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("", Decision.PAUSE),
        ("um", Decision.PAUSE),
        ("stop that", Decision.CUT),
        ("停", Decision.PAUSE),
        ("等等", Decision.CUT),
    ],
)
def test_a_pause_becomes_a_cut_with_enough_words(text: str, decision: Decision) -> None:
    assert PauseAtVoice(words=2).decide(Overlap(1_000, text)) is decision


@pytest.mark.parametrize(("freely", "decision"), [(False, Decision.CUT), (True, Decision.PAUSE)])
def test_who_hears_more_than_commands_waits_for_the_words(freely: bool, decision: Decision) -> None:
    assert ByRecogniser().decide(Overlap(1_000, hears_freely=freely)) is decision
    assert ByRecogniser().decide(Overlap(1_000, "stop that", freely)) is Decision.CUT
