"""Policies of interruption by voice."""

from __future__ import annotations

import pytest

from vixio.core.turns.interruption import CutAtVoice, Decision, Overlap, PauseAtVoice


@pytest.mark.parametrize("text", ["", "wait", "wait a moment"])
def test_the_default_cuts_at_any_voice(text: str) -> None:
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
