from __future__ import annotations

import json

import pytest

from vixio.web.api.event_stream import _piece


@pytest.mark.parametrize(
    ("words", "sent"), [("a\ud83d", "a\ufffd"), ("\ud83d\ude00", "😀"), ("a\0b\nc", "a\0b\nc")]
)
def test_any_words_can_be_sent(words: str, sent: str) -> None:
    """One event that cannot be would end the streams of all who watch."""
    piece = _piece({"arguments": words})
    assert json.loads(piece.decode().removeprefix("data: ")) == {"arguments": sent}
