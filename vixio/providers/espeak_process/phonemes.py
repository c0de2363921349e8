"""How eSpeak NG pronounces words, for callers without an event loop. Blocking."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from vixio.core.backoff import Backoff
from vixio.core.errors import REQUEST, ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.core.framing import Frame, Unpacker, pack
from vixio.providers.espeak_process.cleaning import speakable
from vixio.providers.espeak_process.messages import CRASHED, MAX_PAYLOAD, NAME, Kind, Voice
from vixio.providers.espeak_process.pool import PROGRAM, START_SECONDS
from vixio.providers.inference.workers import spawn

ANSWER_SECONDS: Final = 10.0
"""Answers take less than a millisecond; the rest is a busy machine."""

MAX_TEXT: Final = 4_000
"""Characters of one request; the rest is left out."""

_RESTART: Final = Backoff(first=0.5, longest=5.0, immediate=1)
_READ_BYTES: Final = 1 << 16
_STOP_SECONDS: Final = 2.0


class PhonemeClient:
    """A worker process of its own, started with the first question. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: _Connection | None = None
        self._failures = 0
        self._retry_at = 0.0

    def phonemes(self, text: str, voices: Sequence[Voice], *, tied: bool = False) -> str:
        """Return the pronunciation of ``text`` by the first of ``voices`` that exists, as IPA.

        ``tied``: with ``^`` between the letters of one phoneme.

        Raises ProviderError; the next call works on a new process.
        """
        with self._lock:
            connection = self._connection or self._connect()
            request = {"text": speakable(text[:MAX_TEXT]), "voices": voices, "tied": tied}
            try:
                answer = connection.ask(Kind.PHONEMES, request)
            except (OSError, ValueError) as error:
                self._lose()
                raise ProviderError(NAME, CRASHED, reason=REQUEST) from error
            self._failures = 0
            return answer.decode("utf-8", "replace")

    def close(self) -> None:
        """End the process; a later question starts another. Idempotent."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connect(self) -> _Connection:
        if (left := self._retry_at - time.monotonic()) > 0:
            raise ProviderError(NAME, "its process is not started yet", retry_after=left)
        try:
            self._connection = _Connection()
            self._connection.greet()
        except ProviderUnavailable:
            self._lose()
            raise
        except TimeoutError as error:
            self._lose()
            raise ProviderTimeout(NAME, "started process", START_SECONDS) from error
        except OSError as error:
            self._lose()
            raise ProviderError(NAME, "its process does not start") from error
        return self._connection

    def _lose(self) -> None:
        self._failures += 1
        self._retry_at = time.monotonic() + _RESTART.delay(self._failures)
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _Connection:
    """One process. Everything raises OSError when it has ended or does not answer in time."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = spawn(PROGRAM, "", theirs)
            except BaseException:
                self._socket.close()
                raise
        self._unpacker = Unpacker(Kind, MAX_PAYLOAD)
        self._number = 0

    def greet(self) -> None:
        """Wait until the process is ready. Raises ProviderUnavailable as well."""
        self._socket.settimeout(START_SECONDS)
        for frame in self._frames():
            if frame.kind is Kind.UNUSABLE:
                raise ProviderUnavailable(NAME, frame.json()["message"])
            if frame.kind is Kind.READY:
                self._socket.settimeout(ANSWER_SECONDS)
                return

    def ask(self, kind: Kind, request: dict[str, Any]) -> bytes:
        """Return the answer. Raises ProviderError if there is none to this request."""
        self._number += 1
        self._socket.sendall(pack(kind, self._number, request))
        answer = b""
        for frame in self._frames():
            if frame.kind is Kind.DATA:
                answer += frame.payload
            elif frame.kind is Kind.FAILED:
                raise ProviderError(NAME, frame.json()["message"], retryable=False)
            else:
                break
        return answer

    def close(self) -> None:
        """End the process. Never raises."""
        self._socket.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
            return
        self._process.kill()
        self._process.wait()

    def _frames(self) -> Iterator[Frame[Kind]]:
        while data := self._socket.recv(_READ_BYTES):
            yield from self._unpacker.feed(data)
        raise ConnectionResetError("the process has ended")
