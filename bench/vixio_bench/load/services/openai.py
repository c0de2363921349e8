"""The three endpoints of an OpenAI-compatible service that a conversation needs.

``POST /v1/audio/transcriptions`` (multipart with a WAV file), ``/v1/chat/completions`` (a stream of
events) and ``/v1/audio/speech`` (PCM), as in OpenAI's API reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from vixio.core.audio import BYTES_PER_SAMPLE
from vixio_bench.load.providers import PIECE_MS, RATE
from vixio_bench.load.services.http import Response
from vixio_bench.load.services.scripted import answer_to, heard, spoken

MODEL: Final = "bench"
_PIECE: Final = BYTES_PER_SAMPLE * RATE * PIECE_MS // 1000
_DATA: Final = re.compile(rb"data(....)", re.DOTALL)

Json = dict[str, Any]


class OpenAIService:
    """``speech``: PCM at ``RATE`` that it says. ``tool``: called before each answer, if any."""

    def __init__(self, speech: bytes, tool: str = "") -> None:
        self._speech = speech
        self._tool = tool.replace(".", "_")

    def __call__(self, path: str, body: bytes) -> Response:
        """Answer a request."""
        match path.rpartition("/")[2]:
            case "transcriptions":
                return json_response({"text": heard(_pcm(body))})
            case "completions":
                return self._complete(json.loads(body))
            case "speech":
                pcm = spoken(json.loads(body)["input"], self._speech)
                pieces = [pcm[at : at + _PIECE] for at in range(0, len(pcm), _PIECE)]
                return Response("audio/pcm", pieces)
        return Response("application/json", [b'{"error": {"message": "no such path"}}'], 404)

    def _complete(self, asked: Json) -> Response:
        messages = asked["messages"]
        turn = sum(message["role"] == "user" for message in messages)
        question = next(
            str(message["content"]) for message in reversed(messages) if message["role"] == "user"
        )
        tools = {tool["function"]["name"] for tool in asked.get("tools", ())}
        if self._tool and messages[-1]["role"] == "user":
            if self._tool not in tools:
                return completion(["Nobody has such a tool."])
            return completion([], call=(f"call-{turn}", self._tool, '{"volume": 40}'))
        if messages[-1]["role"] == "tool" and '"error"' in str(messages[-1]["content"]):
            return completion(["Nobody heard of it."])
        return completion(answer_to(question, turn))


def _pcm(body: bytes) -> bytes:
    """Return the audio of the WAV file in a multipart body, which has one part with ``data``."""
    start = body.index(b"WAVEfmt ")
    found = _DATA.search(body, start)
    if found is None:
        raise ValueError("no audio in the form")
    size = int.from_bytes(found[1], "little")
    return body[found.end() : found.end() + size]


def json_response(body: Json) -> Response:
    return Response("application/json", [json.dumps(body).encode()])


def completion(words: Sequence[str], call: tuple[str, str, str] | None = None) -> Response:
    """Return a streamed completion: a delta a word, or one call of a tool.

    ``call``: its id, the tool's name and the arguments as JSON.
    """
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in words]
    if call is not None:
        name = {"name": call[1], "arguments": call[2]}
        deltas.append(
            {"tool_calls": [{"index": 0, "id": call[0], "type": "function", "function": name}]}
        )
    events = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    end = "stop" if call is None else "tool_calls"
    events.append(_chunk([{"index": 0, "delta": {}, "finish_reason": end}]))
    usage = {"prompt_tokens": 300, "completion_tokens": len(words), "total_tokens": 300}
    events.append(_chunk([], usage))
    return Response("text/event-stream", [*events, b"data: [DONE]\n\n"])


def _chunk(choices: list[Json], usage: Json | None = None) -> bytes:
    body: Json = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": choices,
    }
    if usage is not None:
        body["usage"] = usage
    return f"data: {json.dumps(body)}\n\n".encode()
