"""DashScope's own client: recognisers and voices of both protocols."""

from __future__ import annotations

import threading
from base64 import b64decode, b64encode
from itertools import chain, repeat
from typing import Any

import dashscope
from dashscope.audio.asr import Recognition, RecognitionCallback
from dashscope.audio.qwen_omni import (
    MultiModality,
    OmniRealtimeCallback,
    OmniRealtimeConversation,
)
from dashscope.audio.qwen_omni.omni_realtime import TranscriptionParams
from dashscope.audio.qwen_tts_realtime import AudioFormat as SessionFormat
from dashscope.audio.qwen_tts_realtime import QwenTtsRealtime, QwenTtsRealtimeCallback
from dashscope.audio.tts_v2 import (
    AudioFormat,
    ResultCallback,
    SpeechSynthesizer,
    SpeechSynthesizerObjectPool,
)

from tests.vendors_sdk.programs.serving import pieces, serve, sound, told

WITHIN_S = 20.0
PACE_S = 0.02
"""Between two pieces of 100 ms."""
MOST_SILENCE = 200
"""Pieces."""


def use(url: str, key: str) -> None:
    """Point the client at a service, as its documents have it."""
    dashscope.base_websocket_api_url = url
    dashscope.api_key = key


# ── tasks ────────────────────────────────────────────────────────────────────────────────────


class Heard(RecognitionCallback):  # type: ignore[misc]
    """Notes what a recogniser says."""

    def __init__(self) -> None:
        self.sentences: list[dict[str, Any]] = []
        self.error: dict[str, Any] = {}
        self.over = threading.Event()
        self.some = threading.Event()

    def on_event(self, result: Any) -> None:  # noqa: ANN401 - of the client
        sentence = result.get_sentence()
        self.sentences.append({**sentence, "whole": result.is_sentence_end(sentence)})
        self.some.set()

    def on_error(self, result: Any) -> None:  # noqa: ANN401 - of the client
        self.error = {"code": result.code, "words": result.message, "status": result.status_code}
        self.over.set()

    def on_complete(self) -> None:
        self.over.set()


def recognise(url: str, key: str, model: str, pcm: str) -> dict[str, Any]:
    """Recognise speech, and the silence behind it until there are words.

    The client takes what a service sends only while it has audio to send.
    """
    use(url, key)
    heard = Heard()
    recogniser = Recognition(model=model, format="pcm", sample_rate=16_000, callback=heard)
    recogniser.start()
    for piece in chain(pieces(sound(pcm)), repeat(bytes(3_200), MOST_SILENCE)):
        if heard.over.is_set() or (heard.some.is_set() and not any(piece)):
            break
        recogniser.send_audio_frame(piece)
        heard.over.wait(PACE_S)
    if not heard.over.is_set():
        recogniser.stop()
    heard.over.wait(WITHIN_S)
    return {"sentences": heard.sentences, "error": heard.error}


class Spoken(ResultCallback):  # type: ignore[misc]
    """Collects sound."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.error = ""
        self.some = threading.Event()

    def on_data(self, data: bytes) -> None:
        self.parts.append(data)
        self.some.set()

    def on_error(self, message: str) -> None:
        self.error = message


def voice(model: str, speaker: str, spoken: Spoken | None) -> dict[str, Any]:
    given = {"model": model, "voice": speaker, "callback": spoken}
    return {**given, "format": AudioFormat.PCM_24000HZ_MONO_16BIT}


def speak(url: str, key: str, model: str, speaker: str, texts: list[str]) -> dict[str, Any]:
    """Speak texts in one task."""
    use(url, key)
    spoken = Spoken()
    synthesizer = SpeechSynthesizer(**voice(model, speaker, spoken))
    for text in texts:
        synthesizer.streaming_call(text)
    synthesizer.streaming_complete(int(WITHIN_S * 1000))
    return {**told(spoken.parts), "error": spoken.error}


def flush(url: str, key: str, model: str, speaker: str, text: str) -> dict[str, Any]:
    """Have a text spoken that is no whole sentence; what was heard before the end of the task."""
    use(url, key)
    spoken = Spoken()
    synthesizer = SpeechSynthesizer(**voice(model, speaker, spoken))
    synthesizer.streaming_call(text)
    synthesizer.streaming_flush()
    early = spoken.some.wait(WITHIN_S)
    synthesizer.streaming_complete(int(WITHIN_S * 1000))
    return {**told(spoken.parts), "early": early}


def cancel(url: str, key: str, model: str, speaker: str, text: str) -> dict[str, Any]:
    """Cancel a task at its first sound."""
    use(url, key)
    spoken = Spoken()
    synthesizer = SpeechSynthesizer(**voice(model, speaker, spoken))
    synthesizer.streaming_call(text)
    spoken.some.wait(WITHIN_S)
    synthesizer.streaming_cancel(int(WITHIN_S * 1000))
    return {**told(spoken.parts), "last": synthesizer.get_response()["header"]["event"]}


def close_midway(url: str, key: str, model: str, speaker: str, text: str) -> dict[str, Any]:
    """Close the connection at the first sound."""
    use(url, key)
    spoken = Spoken()
    synthesizer = SpeechSynthesizer(**voice(model, speaker, spoken))
    synthesizer.streaming_call(text)
    spoken.some.wait(WITHIN_S)
    synthesizer.close()
    return told(spoken.parts)


def speak_by_a_pool(
    url: str, key: str, model: str, speaker: str, texts: list[str]
) -> dict[str, Any]:
    """Speak texts in a task each, over one kept connection."""
    use(url, key)
    pool = SpeechSynthesizerObjectPool(max_size=1, url=url)
    sounds = []
    try:
        for text in texts:
            spoken = Spoken()
            synthesizer = pool.borrow_synthesizer(**voice(model, speaker, spoken))
            synthesizer.streaming_call(text)
            synthesizer.streaming_complete(int(WITHIN_S * 1000))
            sounds.append(b64encode(b"".join(spoken.parts)).decode())
            pool.return_synthesizer(synthesizer)
        pool.borrow_synthesizer(**voice(model, speaker, Spoken())).close()  # shutdown leaves it
    finally:
        pool.shutdown()
    return {"sounds": sounds}


# ── sessions ─────────────────────────────────────────────────────────────────────────────────


class Events(OmniRealtimeCallback, QwenTtsRealtimeCallback):  # type: ignore[misc]
    """Notes the events of a session."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.parts: list[bytes] = []
        self.some = threading.Event()
        self.over = threading.Event()

    def on_open(self) -> None:
        pass

    def on_close(self, close_status_code: object, close_msg: object) -> None:
        pass

    def on_event(self, message: dict[str, Any]) -> None:
        if message["type"] == "response.audio.delta":
            self.parts.append(b64decode(message["delta"]))
            self.some.set()
            return
        self.events.append(message)
        if message["type"] in ("error", "session.finished"):
            self.over.set()
        if message["type"].endswith(".text"):
            self.some.set()


def recognise_in_a_session(url: str, key: str, model: str, pcm: str) -> dict[str, Any]:
    dashscope.api_key = key
    events = Events()
    session = OmniRealtimeConversation(model=model, callback=events, url=url)
    session.connect()
    session.update_session(
        output_modalities=[MultiModality.TEXT],
        transcription_params=TranscriptionParams(
            language="zh", sample_rate=16_000, input_audio_format="pcm", corpus_text="客厅"
        ),
    )
    for piece in pieces(sound(pcm)):
        session.append_audio(b64encode(piece).decode())
    events.some.wait(WITHIN_S)
    session.end_session(int(WITHIN_S))
    session.close()
    return {"events": events.events}


def speak_in_a_session(
    url: str, key: str, model: str, speaker: str, texts: list[str], midway: bool = False
) -> dict[str, Any]:
    """Speak texts; ``midway``: close the connection at the first sound."""
    dashscope.api_key = key
    events = Events()
    session = QwenTtsRealtime(model=model, callback=events, url=url)
    session.connect()
    session.update_session(voice=speaker, response_format=SessionFormat.PCM_24000HZ_MONO_16BIT)
    for text in texts:
        session.append_text(text)
    if midway:
        events.some.wait(WITHIN_S)
        session.close()
    else:
        session.finish()
        events.over.wait(WITHIN_S)
        session.close()
    return {**told(events.parts), "events": events.events}


if __name__ == "__main__":
    serve(
        recognise,
        speak,
        flush,
        cancel,
        close_midway,
        speak_by_a_pool,
        recognise_in_a_session,
        speak_in_a_session,
    )
