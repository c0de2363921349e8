"""The phrase book as a model: an understood sentence becomes a tool call or a reply.

Tool calls, results, history and changing tools take the same path as with a language model.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import uuid4

from vixio.core.consent import is_no, is_yes
from vixio.core.language_tags import primary
from vixio.core.messages import message
from vixio.core.messages.apology import not_understood
from vixio.core.metrics import ModelUse
from vixio.core.tools.late import LATE_CALL
from vixio.language.phrasebook import (
    LANGUAGES,
    Call,
    CompiledPhrases,
    PhraseBook,
    Result,
    ToolSignature,
    fingerprint,
    first_apology,
)
from vixio.providers.openai_agent.model import (
    Answer,
    Declined,
    Item,
    ModelCall,
    ModelStream,
    Words,
    text_of,
)

_HAN: Final = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_KANA: Final = re.compile("[\u3041-\u30ff]")

_READS_HAN: Final = frozenset({"zh", "ja", "ko"})
"""Languages that may themselves be written in Han."""

MAX_LISTS = 64
"""Compiled tool lists that are kept. Devices of one kind share theirs."""

_USE: Final = ModelUse("phrasebook", 0, 0)


class PhraseBookModel:
    """Answers in ``language``, or else in that of the user's voice, from its book.

    Text in Chinese or Japanese is answered from the book of its script, which voices read as such.
    A sentence of the English book is carried out too, and answered in the words of the language's
    own book: no voice is given words of a language that it cannot speak.

    Stateless except for a cache: each call reads the user's words and the tools' answers from its
    input, and uses the phrases of its own tools. A book is read when it is first needed.
    """

    def __init__(self, language: str = "") -> None:
        self._language = language
        self._compiled: OrderedDict[tuple[str, str], CompiledPhrases] = OrderedDict()

    async def stream(self, call: ModelCall) -> ModelStream:
        """Answer in one piece; see :class:`~vixio.providers.openai_agent.model.Model`."""
        said, apology = await self._answer(call)
        if isinstance(said, Call):
            yield Answer([_call(said)], _USE)
            return
        if said:  # nothing follows a result that the user has heard
            yield Words(said)
        use = replace(_USE, apology=apology)
        yield Answer([{"role": "assistant", "content": said}], use)

    async def _answer(self, call: ModelCall) -> tuple[Call | str, str]:
        """Return a call or words, and what the words apologise for, if they do."""
        turns = _turns(call.items)
        text, results = _meant(turns)
        signatures = [
            ToolSignature(tool.name, tool.definition.description, tool.definition.parameters)
            for tool in call.tools
        ]
        own, languages = _languages(text, self._language or call.language or "en")
        if results and Result.read(results[-1]).unconfirmed:
            return message("confirm", own, said=text), ""
        if _asks(turns[:-1]) and is_no(text):
            return message("cancelled", own), ""
        for language in languages:
            match = (await self._phrases(language, signatures)).match(text)
            if match is not None and language == "en" != languages[0]:
                match = (await self._phrases(languages[0], signatures)).answering(match)
            if match is not None:
                return match.proceed(results), "tool_failed" if match.failed(results) else ""
        if not results and (is_yes(text) or is_no(text)):
            return message("nothing_asked", own), ""
        if results:  # the called tool is no longer offered, so its phrase is unknown
            return message("tool_failed", own), "tool_failed"
        if call.failure is not None:
            raise Declined(call.failure)
        told = [each for each in call.items if each.get("role") == "assistant"]
        said = [text_of(each.get("content")) for each in told]
        return not_understood(own, said, first_apology(own)), "not_understood"

    async def _phrases(self, language: str, signatures: Sequence[ToolSignature]) -> CompiledPhrases:
        """Return the phrases for these tools; a new list is compiled in a thread."""
        key = (language, fingerprint(signatures))
        if key not in self._compiled:
            self._compiled[key] = await asyncio.to_thread(_compile, language, signatures)
        self._compiled.move_to_end(key)
        found = self._compiled[key]
        while len(self._compiled) > MAX_LISTS:
            self._compiled.popitem(last=False)
        return found


def _compile(language: str, signatures: Sequence[ToolSignature]) -> CompiledPhrases:
    return PhraseBook.load(language).compile(signatures)


def _languages(text: str, own: str) -> tuple[str, list[str]]:
    """Return the language to answer in, and the books to try: the first one is its own, if any."""
    base = primary(own)
    books = [base] if base in LANGUAGES else []
    if base not in _READS_HAN and (_KANA.search(text) or _HAN.search(text)):
        script = "ja" if _KANA.search(text) else "zh"
        return script, [*books, script]
    return own, list(dict.fromkeys((*books, "en"))) if books else []


def _call(step: Call) -> Item:
    return {
        "type": "function_call",
        "call_id": f"call_{uuid4().hex[:24]}",
        "name": step.tool,
        "arguments": json.dumps(step.arguments, ensure_ascii=False),
    }


@dataclass(slots=True)
class _Turn:
    """The user's words, the tools' answers, and whether the assistant spoke after them."""

    text: str
    results: list[str] = field(default_factory=list)
    answered: bool = False


def _turns(items: Sequence[Item]) -> list[_Turn]:
    """Return the conversation, the current turn last."""
    turns = [_Turn("")]
    for item in items:
        if item.get("role") == "user":
            turns.append(_Turn(text_of(item.get("content"))))
        elif item.get("type") == "function_call_output":
            if str(item.get("call_id")).startswith(LATE_CALL):
                continue  # an answer to an earlier turn than the one before it
            turns[-1].results.append(text_of(item.get("output")))
            turns[-1].answered = False
        elif item.get("role") == "assistant":
            turns[-1].answered = True
    return turns


def _asks(turns: Sequence[_Turn]) -> bool:
    """Whether the last of ``turns`` ended with a request for consent."""
    if not turns or not turns[-1].results:
        return False
    return turns[-1].answered and Result.read(turns[-1].results[-1]).unconfirmed


def _meant(turns: Sequence[_Turn]) -> tuple[str, list[str]]:
    """Return the sentence to act on, and the tools' answers to it.

    A yes after a request for consent continues the turn before: the same call again, in place of
    the one that was not run.
    """
    now = turns[-1]
    before = turns[:-1]
    if _asks(before) and is_yes(now.text):
        text, results = _meant(before)
        return text, results[:-1] + now.results
    return now.text, now.results
