"""The worker process: ``python -m vixio.providers.espeak_process.worker``.

It talks in frames over standard input and output and ends when its input ends. It looks for input
between two pieces of audio, so a request that is cancelled stops there. A request that makes the
library crash, or loop for CPU_SECONDS of CPU time, ends the process.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
from collections import deque
from typing import Final

from vixio.core.framing import Frame, Unpacker, pack
from vixio.providers.espeak_process.library import EspeakError, EspeakLibrary, load_espeak
from vixio.providers.espeak_process.messages import CPU_SECONDS, MAX_PAYLOAD, Kind, Voice

_READ_BYTES: Final = 1 << 16


class Channel:
    """The requests of the server, and the answers to them. Blocking."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._unpacker = Unpacker(Kind, MAX_PAYLOAD)
        self._requests: deque[Frame[Kind]] = deque()
        self._cancelled: set[int] = set()
        self._current = 0
        """The request that is being served, or the last one; numbers grow."""
        self._poll = select.poll()
        self._poll.register(incoming, select.POLLIN)
        self.open = True
        """Whether the server is still there."""

    def next(self) -> Frame[Kind] | None:
        """Wait for the next request; None at the end of the input."""
        while not self._requests and self.open:
            self._receive()
        if not self.open:
            return None
        request = self._requests.popleft()
        self._current = request.stream
        return request

    def wanted(self) -> bool:
        """Whether the request that is being served has not been cancelled."""
        while self.open and self._poll.poll(0):
            self._receive()
        return self.open and self._current not in self._cancelled

    def send(self, kind: Kind, payload: bytes = b"") -> None:
        """Write a frame about the request that is being served."""
        view = memoryview(pack(kind, self._current, payload))
        try:
            while view:
                view = view[os.write(self._outgoing, view) :]
        except OSError:  # the server is gone
            self.open = False

    def end(self, error: str = "") -> None:
        """Complete the request that is being served; ``error``: why it has no answer."""
        if error:
            self.send(Kind.FAILED, json.dumps({"message": error}).encode())
        else:
            self.send(Kind.END)
        self._cancelled.discard(self._current)
        self._current += 1

    def _receive(self) -> None:
        try:
            data = os.read(self._incoming, _READ_BYTES)
        except OSError:
            data = b""
        self.open = bool(data)
        for frame in self._unpacker.feed(data):
            if frame.kind is not Kind.CANCEL:
                self._requests.append(frame)
            elif frame.stream >= self._current:  # else it has ended meanwhile
                self._cancelled.add(frame.stream)


def serve(library: EspeakLibrary, channel: Channel) -> None:
    """Answer requests until the input ends."""
    while (request := channel.next()) is not None:
        error = ""
        if channel.wanted():
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # SIGPROF ends the process
            try:
                _answer(library, channel, request)
            except EspeakError as failure:
                error = str(failure)
            except Exception as failure:  # noqa: BLE001 - one bad request must not fail the next
                error = f"synthesis failed ({type(failure).__name__})"
            signal.setitimer(signal.ITIMER_PROF, 0)
        channel.end(error)


def _answer(library: EspeakLibrary, channel: Channel, request: Frame[Kind]) -> None:
    if request.kind is Kind.VOICES:
        channel.send(Kind.DATA, json.dumps(library.voices()).encode())
        return
    asked = request.json()
    voices = [Voice(*each) for each in asked["voices"]]
    if request.kind is Kind.MISSING:
        missing = [each.name for each in voices if not library.set_voice(each)]
        channel.send(Kind.DATA, json.dumps(missing).encode())
        return
    if not any(library.set_voice(each) for each in voices):
        raise EspeakError(f"no such voice: {', '.join(each.name for each in voices)}")
    if request.kind is Kind.PHONEMES:
        sounds = library.phonemes(asked["text"], tied=asked["tied"])
        channel.send(Kind.DATA, sounds.encode("utf-8", "replace"))
        return

    def write(pcm: bytes) -> bool:
        if not channel.wanted():
            return False
        channel.send(Kind.DATA, pcm)
        return True

    library.synthesize(asked["text"], write, pause_after=asked["pause_after"])


def main() -> None:
    """Load the library and answer requests."""
    # What the library prints must not mix with the frames: they get a descriptor of their own.
    outgoing = os.dup(1)
    os.dup2(2, 1)
    # A core file would hold what was said, and crashes are expected.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = Channel(0, outgoing)
    try:
        library = load_espeak()
    except EspeakError as error:
        channel.send(Kind.UNUSABLE, json.dumps({"message": str(error)}).encode())
        return
    channel.send(Kind.READY, json.dumps({"sample_rate": library.sample_rate}).encode())
    serve(library, channel)


if __name__ == "__main__":
    main()
