"""The frames on the stand-in's page, byte by byte, by the client and by the stand-in."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from vixio.core.errors import ProviderError
from vixio.providers.volcengine import frames
from vixio.providers.volcengine.errors import of_code
from vixio.providers.volcengine.frames import Event, Kind
from vixio_bench.vendors.volcengine import frames as theirs

PAGE = files("vixio_bench.vendors.volcengine").joinpath("page.md").read_text()
RECORDED = {
    name: bytes.fromhex(data.replace(" ", ""))
    for name, data in re.findall(r"^\| ([^|]+) \| `([0-9a-f ]+)` \|$", PAGE, re.MULTILINE)
}


def recorded(beginning: str) -> bytes:
    (found,) = (data for name, data in RECORDED.items() if name.startswith(beginning))
    return found


def test_the_page_has_them() -> None:
    assert len(RECORDED) == 7


def test_an_error_is_read() -> None:
    frame = frames.read(recorded("error"))
    assert (frame.kind, frame.code) == (Kind.ERROR, 45_000_081)
    said = of_code("asr", frame.code, frame.payload.decode())
    assert "[Timeout waiting next] (45000081)" in str(said)
    assert theirs.error_frame(45_000_081, "[Timeout waiting next]")[:8] == recorded("error")[:8]


def test_audio_is_written() -> None:
    samples = bytes.fromhex("0100020003000400")
    assert frames.audio(samples) == recorded("audio of a client")
    assert frames.audio(b"", last=True) == recorded("the last audio")
    assert theirs.client_frame(recorded("audio of a client")) == (2, 0, 0, "", samples)
    assert theirs.client_frame(recorded("the last audio"))[1] == 2


def test_the_last_answer_is_known_by_its_flags() -> None:
    frame = frames.read(recorded("an answer"))
    assert frame.kind == Kind.FULL_SERVER
    assert frame.last
    assert frame.json() == {"result": {"text": ""}}
    made = theirs.full_server(b'{"result":{"text":""}} ', flags=3, sequence=2)
    assert made[:8] == recorded("an answer")[:8]
    packed = theirs.full_server(b'{"result":{}}', flags=1, sequence=1, packed=True)
    assert frames.read(packed).json() == {"result": {}}
    assert not frames.read(packed).last


def test_events_are_written_and_read() -> None:
    assert frames.event(Event.START_CONNECTION) == recorded("StartConnection")
    assert frames.event(Event.FINISH_SESSION, "s1") == recorded("FinishSession")
    assert theirs.client_frame(recorded("FinishSession")) == (1, 4, 102, "s1", b"{}")
    sound = frames.read(recorded("sound"))
    assert (sound.event, sound.id, sound.payload) == (Event.AUDIO, "s1", b"\1\0\2\0")
    assert theirs.event_frame(352, "s1", b"\1\0\2\0", sound=True) == recorded("sound")


def test_a_failed_connection_may_have_one_field() -> None:
    alone = bytes.fromhex("11941000 00000033") + b"\0\0\0\x02{}"
    assert frames.read(alone).event == Event.CONNECTION_FAILED
    both = theirs.event_frame(51, "c1", b"{}")
    assert (frames.read(both).id, frames.read(both).payload) == ("c1", b"{}")


@pytest.mark.parametrize("name", RECORDED)
def test_whatever_is_cut_short_is_refused(name: str) -> None:
    data = RECORDED[name]
    for end in range(len(data)):
        try:
            frames.read(data[:end])
        except ProviderError:
            continue
        assert data[1] >> 4 == 9, f"{end} bytes"  # an answer's JSON is read where it is used


@pytest.mark.parametrize(
    "data",
    ["text", b"\x21\x90\x10\x00", b"\x11\x94\x10\x00\x00\x00\x01\x5e\x00\x00\x00\x01\xff\0\0\0\0"],
)
def test_what_is_no_frame_is_refused(data: str | bytes) -> None:
    with pytest.raises(ProviderError, match="the server sends"):
        frames.read(data)


def test_a_small_frame_does_not_become_a_large_one() -> None:
    import gzip

    bomb = gzip.compress(bytes(64 * 2**20))
    head = bytes((0x11, 0x90, 0x11, 0)) + len(bomb).to_bytes(4)
    with pytest.raises(ProviderError, match="more than"):
        frames.read(head + bomb)
