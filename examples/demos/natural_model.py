"""A stand-in for a language model: Chat Completions over real HTTP on the loopback interface.

It knows nothing but the script, and everything else it takes from the request, as a model does:
what the user said from the last message, the tools that it may call, their results, and what it has
told before from the history. So an answer is right only if the server sent the right things.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from examples.demos.natural_script import Exchange, Script
from examples.demos.natural_words import behind, contains, share_heard
from vixio.core.history import INTERRUPTED
from vixio_bench.load.services.http import HttpService, Response
from vixio_bench.load.services.openai import MODEL, completion, json_response

Json = dict[str, Any]

_SENTENCES = re.compile(r"[^.!?。！？]+[.!?。！？]?")
ALIKE: Final = 0.6
"""So much of a sentence must be heard: of the user's by the model, and of an answer by the user."""
_PIECE = 6
"""Characters of a delta."""


class StandInModel:
    """``asked``: the requests as they came."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.asked: list[Json] = []

    def __call__(self, path: str, body: bytes) -> Response:
        """Answer a request."""
        match path.rpartition("/")[2]:
            case "models":
                return json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
            case "completions":
                request = json.loads(body)
                self.asked.append(request)
                return self._complete(request)
        return Response("application/json", [b'{"error": {"message": "no such path"}}'], 404)

    def _complete(self, request: Json) -> Response:
        messages = request["messages"]
        heard = question(request)
        exchange = self._meant(heard)
        if exchange is None:
            return _words(self._script.lost)
        fact = behind(heard, exchange.key, self._script.language)
        result = _text(messages[-1]) if messages[-1]["role"] == "tool" else ""
        if '"error"' in result:
            return _words(self._script.failed)
        if exchange.tool and not result:
            return self._call(exchange, request, fact)
        facts = json.loads(result)["facts"] if exchange.tool == "recall_facts" else []
        told = _SENTENCES.findall(answer_before(request).replace(INTERRUPTED, ""))
        return _words(
            exchange.answer.format(
                fact=fact, facts=", ".join(facts), told=told[-1].strip() if told else ""
            )
        )

    def _meant(self, heard: str) -> Exchange | None:
        """Return what the user meant: the sentence that sounds most alike, if it does at all.

        A language model guesses a misheard word from the others, too.
        """
        language = self._script.language
        likeness, meant = max(
            ((share_heard(each.say, heard, language), each) for each in self._script.exchanges),
            key=lambda pair: pair[0],
        )
        return meant if likeness >= ALIKE and contains(heard, meant.key, language) else None

    def _call(self, exchange: Exchange, request: Json, fact: str) -> Response:
        name = exchange.tool.replace(".", "_")
        if name not in {tool["function"]["name"] for tool in request.get("tools", ())}:
            return _words(self._script.failed)
        arguments = {
            key: value.format(fact=fact) if isinstance(value, str) else value
            for key, value in exchange.arguments.items()
        }
        call = (f"call-{len(self.asked)}", name, json.dumps(arguments, ensure_ascii=False))
        return completion([], call=call)


def question(request: Json) -> str:
    """Return what the user said last, as the model got it."""
    return next(
        (_text(each) for each in reversed(request["messages"]) if each["role"] == "user"), ""
    )


def answer_before(request: Json) -> str:
    """Return the newest answer in the history that the model got."""
    said = (
        _text(each)
        for each in reversed(request["messages"])
        if each["role"] == "assistant" and each.get("content")
    )
    return next(said, "")


def _text(message: Json) -> str:
    """Return the text of a message, whose content may come in parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content)


def _words(text: str) -> Response:
    return completion([text[at : at + _PIECE] for at in range(0, len(text), _PIECE)])


@asynccontextmanager
async def serving(model: StandInModel) -> AsyncIterator[str]:
    """Serve the model until the block ends; yields its base URL."""
    service = HttpService(model)
    port = await service.start()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        service.stop()
