"""Server-sent events, however they are cut, and what may stand between them."""

from __future__ import annotations

import pytest

from vixio.core.event_stream import Event, EventReader

BOUND = 1_000

STREAM = (
    b": a comment\n\nretry: 3000\nevent: ping\ndata:\n\n"
    b'id: 1\ndata: {"text": "Gr\xc3\xbc\xc3\x9fe"}\n\n'
    b"data:first\ndata:  second\n\ndata\n\ndata: [DONE]\n\ndata: half"
)
EVENTS = [
    Event("ping", ""),
    *(Event("", data) for data in ('{"text": "Grüße"}', "first\n second", "", "[DONE]")),
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1_000])
def test_every_cut_gives_the_same(size: int, end: bytes) -> None:
    stream = STREAM.replace(b"\n", end)
    reader = EventReader(BOUND)
    found: list[Event] = []
    for start in range(0, len(stream), size):
        found += reader.feed(stream[start : start + size])
    assert found == EVENTS


def test_other_separators_of_lines_are_text() -> None:
    text = "a\u2028b\x0bc\x85d"
    assert EventReader(BOUND).feed(f"data: {text}\n\n".encode()) == [Event("", text)]


def test_what_is_no_utf8_ends_nothing() -> None:
    assert EventReader(BOUND).feed(b"data: a\xffb\n\n") == [Event("", "a\ufffdb")]


@pytest.mark.parametrize("piece", [b"x" * 100, b"data: " + b"x" * 60 + b"\n"])
def test_an_event_without_an_end_is_bounded(piece: bytes) -> None:
    reader = EventReader(BOUND)

    def feed_all() -> None:
        for _ in range(100):
            reader.feed(piece)

    with pytest.raises(ValueError, match="more than 1000 bytes"):
        feed_all()
