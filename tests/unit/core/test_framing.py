"""Frames come out as they went in, in whatever pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.framing import Frame, Unpacker, pack
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
    assert frame.json() == {"text": "你好 ?"}


@pytest.mark.parametrize("data", [b"\x01\0\0\0\0\xff\xff\xff\xff", b"\x63" + bytes(8)])
def test_nonsense_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"bytes|Kind"):
        list(Unpacker(Kind, MAX_PAYLOAD).feed(data))
    assert MAX_PAYLOAD < 2**31
