from __future__ import annotations

from vixio.core.tools.types import ASKS_NOTE, SPOKEN_NOTE, ToolCallResult


def test_half_a_surrogate_pair_never_reaches_the_model() -> None:
    text = ToolCallResult("1", success=True, result="a\ud800b").for_model()
    assert text == "a\ufffdb"
    text.encode()


def test_the_model_reads_that_a_result_was_spoken() -> None:
    spoken = ToolCallResult("1", success=True, result="Rain.", spoken=True)
    assert spoken.for_model() == f"{SPOKEN_NOTE} Rain."
    assert ToolCallResult("1", success=True, spoken=True).for_model() == SPOKEN_NOTE
    assert SPOKEN_NOTE not in ToolCallResult("1", success=False, spoken=True).for_model()


def test_the_model_reads_that_a_result_is_a_question() -> None:
    asked = ToolCallResult("1", success=True, result="Which day?", asks=True)
    assert asked.for_model() == f"{ASKS_NOTE} Which day?"
    said = ToolCallResult("1", success=True, result="Which day?", asks=True, spoken=True)
    assert said.for_model() == f"{SPOKEN_NOTE} {ASKS_NOTE} Which day?"
