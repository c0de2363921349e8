"""DashScope's own client in its second form (`Client.audio`): several tasks over one connection."""

from __future__ import annotations

import threading
from typing import Any

from dashscope import Client

from tests.vendors_sdk.programs.serving import pieces, serve, sound, told

WITHIN_S = 20.0


def recognise(url: str, key: str, model: str, pcm: str, times: int) -> dict[str, Any]:
    """Recognise speech, one task after the other."""
    client = Client(api_key=key)
    connection = client.ws_connection(url=url, timeout=WITHIN_S)
    heard = []
    try:
        for _ in range(times):
            with client.audio.asr.recognize(model=model, connection=connection) as recognition:
                some = threading.Event()
                threading.Thread(target=send, args=(recognition, sound(pcm), some)).start()
                results = []
                for result in recognition.results():
                    some.set()
                    text = result.get_sentence()["text"]
                    results.append({"text": text, "whole": result.is_sentence_end()})
            heard.append(results)
    finally:
        connection.close()
    return {"heard": heard}


def send(recognition: Any, pcm: bytes, some: threading.Event) -> None:  # noqa: ANN401 - of the client
    """Send speech, and its end when there are words."""
    for piece in pieces(pcm):
        recognition.send_audio_frame(piece)
    some.wait(WITHIN_S)
    recognition.stop()


def speak(
    url: str, key: str, model: str, speaker: str, texts: list[str], cancelled: str = ""
) -> dict[str, Any]:
    """Speak texts in a task each; before that one that is cancelled, although its text is whole."""
    client = Client(api_key=key)
    connection = client.ws_connection(url=url, timeout=WITHIN_S)
    form = {"model": model, "voice": speaker, "format": "pcm", "sample_rate": 24_000}
    parts, of_cancelled = [], 0
    try:
        if cancelled:
            with client.audio.tts.connect(**form, connection=connection) as session:
                session.send_text(cancelled)
                session.stop()
                for part in session.audio_chunks():
                    of_cancelled += len(part)
                    session.cancel()
        for text in texts:
            with client.audio.tts.connect(**form, connection=connection) as session:
                session.send_text(text)
                session.stop()
                parts += session.audio_chunks()
    finally:
        connection.close()
    return {**told(parts), "of_cancelled": of_cancelled}


if __name__ == "__main__":
    serve(recognise, speak)
