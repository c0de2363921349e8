"""Frames come out as they went in, in whatever pieces."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.framing import Frame, FrameReader, Unpacker, pack
from vixio.providers.funasr.messages import MAX_PAYLOAD, Kind

frames = st.lists(
    st.builds(Frame, st.sampled_from(Kind), st.integers(0, 2**32 - 1), st.binary(max_size=200))
)


@given(frames, st.integers(1, 50))
def test_frames_survive_any_cut(sent: list[Frame[Kind]], size: int) -> None:
    data = b"".join(pack(*frame) for frame in sent)
    unpacker = Unpacker(Kind, MAX_PAYLOAD)
    read = [
        frame
        for start in range(0, len(data), size)
        for frame in unpacker.feed(data[start : start + size])
    ]
    assert read == sent


def test_words_of_any_script_are_sent() -> None:
    (frame,) = Unpacker(Kind, MAX_PAYLOAD).feed(pack(Kind.RESULT, 7, {"text": "你好 \ud800"}))
    assert frame.json() == {"text": "你好 \ufffd"}


def test_what_json_has_no_way_to_write_is_sent_as_text() -> None:
    (frame,) = Unpacker(Kind, MAX_PAYLOAD).feed(pack(Kind.RESULT, 7, {"on": date(2026, 1, 2)}))
    assert frame.json() == {"on": "2026-01-02"}


def test_a_frame_about_nothing_in_particular_has_the_number_0() -> None:
    assert list(Unpacker(Kind, MAX_PAYLOAD).feed(pack(Kind.FINISH))) == [(Kind.FINISH, 0, b"")]


def test_the_longest_payload_is_taken_and_a_longer_one_refused() -> None:
    assert list(Unpacker(Kind, 3).feed(pack(Kind.AUDIO, 1, b"abc"))) == [(Kind.AUDIO, 1, b"abc")]
    with pytest.raises(ValueError, match="4 bytes"):
        list(Unpacker(Kind, 3).feed(pack(Kind.AUDIO, 1, b"abcd")))


@pytest.mark.parametrize("data", [b"\x01\0\0\0\0\xff\xff\xff\xff", b"\x63" + bytes(8)])
def test_malformed_frames_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"bytes|Kind"):
        list(Unpacker(Kind, MAX_PAYLOAD).feed(data))
    assert MAX_PAYLOAD < 2**31


def reader_of(*pieces: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    for piece in pieces:
        reader.feed_data(piece)
    reader.feed_eof()
    return reader


async def test_a_stream_is_read_frame_by_frame() -> None:
    data = pack(Kind.AUDIO, 1, b"abc") + pack(Kind.FINISH, 1) + pack(Kind.AUDIO, 2, b"lost")[:-1]
    frames = FrameReader(reader_of(data[:7], data[7:]), Kind, MAX_PAYLOAD)
    assert await frames.read() == (Kind.AUDIO, 1, b"abc")
    assert not frames.at_end
    assert await frames.read() == (Kind.FINISH, 1, b"")
    assert await frames.read() is None
    assert frames.at_end


async def test_a_broken_connection_is_an_end() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(pack(Kind.FINISH, 1))
    frames = FrameReader(reader, Kind, MAX_PAYLOAD)
    assert await frames.read() == (Kind.FINISH, 1, b"")
    reader.set_exception(ConnectionResetError())
    assert await frames.read() is None
