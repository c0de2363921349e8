"""volcengine-audio: frames and models of Volcengine's services; the connection is websockets'."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from volcengine_audio.protocol import EventReceive
from volcengine_audio.stt import (
    ListenBidirectionPackage,
    STTAudioFormatV3,
    VolcengineAsrFunctionsV3,
    VolcengineAsrRequestV3,
)
from volcengine_audio.tts import TTSReqParams, VolcengineTTSFunctions
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from tests.vendors_sdk.programs.serving import pieces, serve, sound, told

PACE_S = 0.02
MOST_SILENCE = 200
WITHIN_S = 20.0


@contextmanager
def connected(url: str, key: str, resource: str) -> Iterator[Connection]:
    headers = {
        "X-Api-Key": key,
        "X-Api-Resource-Id": resource,
        "X-Api-Connect-Id": str(uuid.uuid4()),
    }
    with connect(url, additional_headers=headers) as socket:
        yield socket


# ── the recogniser ───────────────────────────────────────────────────────────────────────────


def recognise(
    url: str, key: str, resource: str, pcm: str, compress: bool, hotwords: list[str]
) -> dict[str, Any]:
    """Recognise speech, and the silence behind it until there are words."""
    request = VolcengineAsrRequestV3.Request
    corpus = request.Corpus
    words = [corpus.Context.Hotword(word=word) for word in hotwords]
    asked = VolcengineAsrRequestV3(
        audio=VolcengineAsrRequestV3.Audio(format=STTAudioFormatV3.pcm),
        request=request(
            show_utterances=True, corpus=corpus(context=corpus.Context(hotwords=words))
        ),
    ).model_dump(exclude_none=True)
    frames, answers = VolcengineAsrFunctionsV3, Answers()
    with connected(url, key, resource) as socket:
        socket.send(bytes(frames.generate_asr_full_client_request(1, asked, compress)))
        parts = [*pieces(sound(pcm)), *[bytes(3_200)] * MOST_SILENCE]
        sequence = 1
        with suppress(ConnectionClosed):  # behind an error, which is still to be read
            for part in parts:
                if answers.over or (answers.some and not any(part)):
                    break
                sequence += 1
                frame = frames.generate_asr_audio_only_request(sequence, part, compress)
                socket.send(bytes(frame))
                answers.take(socket, PACE_S)
            frame = frames.generate_asr_audio_only_request(sequence + 1, b"", compress)
            socket.send(bytes(frame))
        while not answers.over:
            answers.take(socket, WITHIN_S)
    return {"partial": answers.partial, "last": answers.last, "error": answers.error}


class Answers:
    """What a recogniser says."""

    def __init__(self) -> None:
        self.partial: list[str] = []
        self.last = ""
        self.error: dict[str, Any] = {}
        self.over = False

    @property
    def some(self) -> bool:
        """Whether there are words."""
        return any(self.partial)

    def take(self, socket: Connection, within_s: float) -> None:
        """Take the next answer, if it comes within that time."""
        try:
            data = socket.recv(timeout=within_s)
        except TimeoutError:
            return
        found = VolcengineAsrFunctionsV3.parse_response(data)
        if "code" in found:
            self.error, self.over = {"code": found["code"], "message": found["message"]}, True
            return
        package = ListenBidirectionPackage.model_validate({"sequence": 0, **found})
        if package.is_last_package:
            self.last, self.over = package.message.result.text, True
        else:
            self.partial.append(package.message.result.text)


# ── the voice ────────────────────────────────────────────────────────────────────────────────


class Voice:
    """One connection of the bidirectional voice."""

    def __init__(self, socket: Connection) -> None:
        self._socket = socket
        self.parts: list[bytes] = []
        self.events: list[str] = []

    def take(self) -> tuple[Any, Any]:
        """Return the next event and its payload; sound is collected."""
        data = self._socket.recv(timeout=WITHIN_S)
        event, _, payload = VolcengineTTSFunctions.extract_response_payload(data)
        if event == EventReceive.TTSResponse:
            self.parts.append(payload)
        name = event.name if isinstance(event, EventReceive) else str(event)
        self.events.append(name)
        return name, payload

    def until(self, *names: str) -> Any:  # noqa: ANN401 - JSON
        """Take events to one of these; return its payload."""
        name, payload = self.take()
        while name not in names:
            name, payload = self.take()
        return payload

    def start(self, speaker: str) -> str:
        session = uuid.uuid4().hex
        params = TTSReqParams(
            speaker=speaker, audio_params=TTSReqParams.AudioParams(format="pcm", sample_rate=24_000)
        ).model_dump(exclude_none=True)
        self._socket.send(VolcengineTTSFunctions.start_session_payload(session, params))
        failed = self.until("SessionStarted", "SessionFailed")
        if self.events[-1] == "SessionFailed":
            raise RuntimeError(failed["message"])
        return session

    def say(self, session: str, speaker: str, text: str) -> None:
        form = {"format": "pcm", "sample_rate": 24_000}
        frame = VolcengineTTSFunctions.task_request_payload(session, text, speaker, form)
        self._socket.send(frame)

    def finish(self, session: str) -> dict[str, Any]:
        self._socket.send(VolcengineTTSFunctions.finish_session_payload(session))
        payload = self.until("SessionFinished", "SessionFailed")
        found = VolcengineTTSFunctions.SessionFinishedPayload.model_validate(payload)
        result: dict[str, Any] = found.model_dump()
        return result

    def cancel(self, session: str) -> None:
        self._socket.send(VolcengineTTSFunctions.cancel_session_payload(session))
        self.until("SessionCanceled")


@contextmanager
def speaking(url: str, key: str, resource: str) -> Iterator[Voice]:
    with connected(url, key, resource) as socket:
        voice = Voice(socket)
        socket.send(VolcengineTTSFunctions.start_connection_payload())
        voice.until("ConnectionStarted")
        yield voice
        socket.send(VolcengineTTSFunctions.finish_connection_payload())
        voice.until("ConnectionFinished")


def speak(
    url: str, key: str, resource: str, speaker: str, sessions: list[list[str]]
) -> dict[str, Any]:
    """Speak the texts of sessions, one after the other over one connection."""
    with speaking(url, key, resource) as voice:
        ends = []
        for texts in sessions:
            session = voice.start(speaker)
            for text in texts:
                voice.say(session, speaker, text)
            ends.append(voice.finish(session))
    return {**told(voice.parts), "events": voice.events, "ends": ends}


def cancel(
    url: str, key: str, resource: str, speaker: str, text: str, another: str
) -> dict[str, Any]:
    """Cancel a session at its first sound; speak ``another`` text over the same connection."""
    with speaking(url, key, resource) as voice:
        session = voice.start(speaker)
        voice.say(session, speaker, text)
        voice.until("TTSResponse")
        voice.cancel(session)
        of_cancelled, voice.parts = voice.parts, []
        session = voice.start(speaker)
        voice.say(session, speaker, another)
        voice.finish(session)
    return {**told(voice.parts), "of_cancelled": sum(map(len, of_cancelled))}


if __name__ == "__main__":
    serve(recognise, speak, cancel)
