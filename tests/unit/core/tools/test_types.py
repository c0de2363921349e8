from __future__ import annotations

from vixio.core.tools.types import ToolCallResult


def test_half_a_surrogate_pair_never_reaches_the_model() -> None:
    text = ToolCallResult("1", success=True, result="a\ud800b").for_model()
    assert text == "a?b"
    text.encode()
