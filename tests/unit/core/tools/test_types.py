from __future__ import annotations

from vixio.core.tools.types import SPOKEN_NOTE, ToolCallResult


def test_half_a_surrogate_pair_never_reaches_the_model() -> None:
    text = ToolCallResult("1", success=True, result="a\ud800b").for_model()
    assert text == "a?b"
    text.encode()


def test_the_model_reads_that_a_result_was_spoken() -> None:
    spoken = ToolCallResult("1", success=True, result="Rain.", spoken=True)
    assert spoken.for_model() == f"{SPOKEN_NOTE} Rain."
    assert ToolCallResult("1", success=True, spoken=True).for_model() == SPOKEN_NOTE
    assert SPOKEN_NOTE not in ToolCallResult("1", success=False, spoken=True).for_model()
