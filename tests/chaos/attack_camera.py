"""The endpoint that cameras post their photos to, under what is none."""

from __future__ import annotations

import asyncio
import os
from typing import NamedTuple

from tests.chaos.attack_tools import server
from tests.chaos.hearing import MEGABYTES
from tests.chaos.outcome import Outcome
from tests.chaos.raw import Json, RawDevice, open_tcp
from tests.chaos.spell import Spell

ANSWER_S = 60.0
"""Within this the endpoint answers, or ends the request: it takes ten seconds of any."""

PHOTO = b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(500) + b"\xff\xd9"

MAX_PHOTO = 1_000_000
"""Bytes; larger bodies may break the line before the answer is read."""

TRIES = 20

ANSWERING = ("stubborn", "megabytes")
"""Faults that are none of the answer: one comes late, the other is cut."""

FAULTS = ("raise", "crash", "hang", "stubborn", "megabytes")
"""Of the vision provider; the question names them."""


class _Camera:
    """A device that keeps the greeting, which has the address for photos and their token."""

    def __init__(self) -> None:
        self.vision: Json = {}
        self._answer = server([])

    def __call__(self, request: Json) -> Json | None:
        if request["method"] == "initialize":
            self.vision = request["params"]["capabilities"].get("vision", {})
        return self._answer(request)


def _multipart(*parts: tuple[str, bytes]) -> bytes:
    pieces = (
        f'--B\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + data + b"\r\n"
        for name, data in parts
    )
    return b"".join(pieces) + b"--B--\r\n"


def _uploads() -> dict[str, bytes]:
    """Return bodies that are no photo."""
    good = _multipart(("question", b"what is it?"), ("file", PHOTO))
    return {
        "no image": _multipart(("file", b"<svg onload=alert(1)>" * 100)),
        "half a picture": _multipart(("file", PHOTO[:-2])),
        "no end": good[:-6],
        "no photo": _multipart(("question", b"why? " * 100)),
        "a question of 1 MB": _multipart(("question", b"x" * 1_000_000), ("file", PHOTO)),
        "10,000 parts": _multipart(*((f"p{number}", b"") for number in range(10_000))),
        "10 MB": _multipart(("file", b"\xff\xd8\xff" + bytes(10_000_000))),
        "a head of 1 MB": b"--B\r\nX: " + b"y" * 1_000_000,
        "noise": os.urandom(50_000),
        "boundaries": b"--B\r\n" * 20_000,
    }


class _Answer(NamedTuple):
    """``status``: empty if there was none. ``text``: the body."""

    status: str
    text: str = ""

    @property
    def pressed(self) -> bool:
        """Whether the server had too much to do to look at the request, or the line broke."""
        return self.status in {"429", "503", ""}


async def _post(
    port: int, source: str, headers: dict[str, str], body: bytes, *, length: int | None = None
) -> _Answer:
    """Post a body; raises TimeoutError if the request has no end."""
    reader, writer = await open_tcp(port, source)
    try:
        lines = {"Host": "x", "Content-Length": str(len(body) if length is None else length)}
        head = "".join(f"{name}: {value}\r\n" for name, value in {**lines, **headers}.items())
        writer.write(f"POST /mcp/vision/explain HTTP/1.1\r\n{head}\r\n".encode() + body)
        async with asyncio.timeout(ANSWER_S):
            status = (await reader.readline()).decode("latin-1").strip()[9:12]
            try:
                whole = await reader.read() if status else b""
            except OSError:
                whole = b""  # the server closed while this side still sent
            return _Answer(status, whole.partition(b"\r\n\r\n")[2].decode("utf-8", "replace"))
    except OSError:
        return _Answer("")
    finally:
        writer.transport.abort()


class _Photographer:
    """A device that may post photos."""

    def __init__(self, http_port: int, source: str, device: RawDevice, token: str) -> None:
        self._http_port = http_port
        self._source = source
        self._token = token
        self.device = device
        self.device_id = ""

    @classmethod
    async def come(cls, port: int, http_port: int, source: str, device_id: str) -> _Photographer:
        """Connect and get the address for photos. Raises ValueError without a vision service."""
        camera = _Camera()
        device = await RawDevice.admitted(port, source, device_id=device_id, mcp=camera)
        await device.until("mcp")
        if "token" not in camera.vision:
            await device.leave()
            raise ValueError("the server offers no vision service")
        made = cls(http_port, source, device, str(camera.vision["token"]))
        made.device_id = device_id
        return made

    async def post(self, body: bytes, *, length: int | None = None) -> _Answer:
        """Return the answer."""
        headers = _headers(self.device_id, self._token)
        return await _post(self._http_port, self._source, headers, body, length=length)


async def photos(port: int, *, http_port: int, seconds: float, stuck: int) -> Outcome:
    """Flood the endpoint, with tokens and without, while an honest camera takes its photos.

    ``stuck``: further devices whose photos never come to their end.
    """
    outcome = Outcome()
    spell = Spell(outcome, seconds)

    async def come(device_id: str, number: int) -> _Photographer:
        return await _Photographer.come(port, http_port, f"127.66.55.{number}", device_id)

    await outcome.together(
        [
            _honest(outcome, await come("camera", 1), seconds),
            _unseen(outcome, await come("unseen", 2)),
            *[_spoiled(outcome, await come(f"spoiled-{n}", 3 + n)) for n in range(2)],
            *[_stuck(outcome, await come(f"stuck-{n}", 5 + n)) for n in range(stuck)],
            *[_stranger(outcome, http_port, first, spell) for first in range(4)],
        ]
    )
    return outcome


async def _stranger(outcome: Outcome, http_port: int, first: int, spell: Spell) -> None:
    """Post without a token that would do."""
    uploads = list(_uploads().values())
    number = first
    while spell.lasts():
        async with outcome.enduring():
            headers = _headers(f"stranger-{number}", "x" * (number % 3 * 500))
            body = uploads[number % len(uploads)]
            answer = await _post(http_port, "127.66.54.1", headers, body)
            outcome.saw(answer.status or "closed")
            good = answer.pressed or answer.status == "401"
            outcome.expect(good, f"a stranger's photo: {answer.status}")
        outcome.done += 1
        number += 4
        await asyncio.sleep(0.02)


async def _spoiled(outcome: Outcome, known: _Photographer) -> None:
    """Post what is no photo, from a device that may post some."""
    async with known.device:
        for name, body in _uploads().items():
            async with outcome.enduring():
                answer = await _unpressed(known, body)
                outcome.saw(answer.status or "closed")
                refused = answer.status in {"400", "413", "415"}
                # A body that is too large may break the line before the answer is read.
                broken = not answer.status and len(body) > MAX_PHOTO
                outcome.expect(refused or broken, f"{name}: {answer.status or 'no answer'}")
            outcome.done += 1


async def _stuck(outcome: Outcome, known: _Photographer) -> None:
    """Post a body that never comes to its end."""
    async with known.device, outcome.enduring():
        outcome.done += 1
        try:
            answer = await known.post(b"--B\r\n", length=100_000)
        except TimeoutError:
            outcome.problems.append(
                f"a photo without end was waited for, {ANSWER_S:.0f} s and more"
            )
            return
        outcome.saw(answer.status or "closed")
        good = answer.pressed or answer.status in {"400", "408"}
        outcome.expect(good, f"a photo without end: {answer.status}")


async def _unseen(outcome: Outcome, known: _Photographer) -> None:
    """Post photos whose provider fails: the answer says so in words."""
    async with known.device:
        for kind in FAULTS:
            body = _multipart(("question", kind.encode()), ("file", PHOTO))
            answer = await _unpressed(known, body)
            outcome.done += 1
            outcome.saw(f"{kind} {answer.status}")
            found = f"vision provider, {kind}: {answer.status or 'no answer'} {answer.text[:80]!r}"
            outcome.expect(answer.status == "200", found)
            if kind in ANSWERING:
                outcome.expect(0 < len(answer.text) < MEGABYTES, found)
            else:
                outcome.expect("could not be looked at" in answer.text, found)


async def _honest(outcome: Outcome, known: _Photographer, seconds: float) -> None:
    """Post photos, a few, each of which has to be looked at."""
    async with known.device:
        body = _multipart(("question", b"what is it?"), ("file", PHOTO))
        for _ in range(5):
            answer = await known.post(body)
            outcome.saw(f"honest {answer.status}")
            found = f"an honest photo: {answer.status or 'no answer'} {answer.text[:80]!r}"
            outcome.expect(answer == _Answer("200", f"A photo of {len(PHOTO)} bytes."), found)
            await asyncio.sleep(seconds / 5)


async def _unpressed(known: _Photographer, body: bytes) -> _Answer:
    """Post until the server had time for it; bounded."""
    answer = await known.post(body)
    for _ in range(TRIES):
        if not answer.pressed:
            break
        await asyncio.sleep(0.3)
        answer = await known.post(body)
    return answer


def _headers(device_id: str, token: str) -> dict[str, str]:
    return {
        "Device-Id": device_id,
        "Authorization": f"Bearer {token}",
        "Content-Type": "multipart/form-data; boundary=B",
    }
