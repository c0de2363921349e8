"""The types of settings of a conversation, for all devices and for single ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, TypeAdapter
from pydantic_core import PydanticKnownError

from vixio.core.greetings import OTHERS, WakeGreetings
from vixio.core.whole_phrases import MAX_CHARS, bare
from vixio.providers.faults import fault

Phrase = Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]

IdleSeconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]


TurnsADay = Annotated[int, Field(ge=0, le=1_000_000)]


_TEXTS = TypeAdapter(tuple[str, ...])
_TEXTS_BY_WORD = TypeAdapter(dict[str, tuple[str, ...]])


def _wake_reply(value: object) -> object:
    """Return one text as it is, several as WakeGreetings."""
    if isinstance(value, str | WakeGreetings):
        return value
    if isinstance(value, list | tuple):
        return WakeGreetings.of(_TEXTS.validate_python(value))
    if not isinstance(value, Mapping):
        raise PydanticKnownError("string_type")
    for word, texts in value.items():
        if isinstance(texts, Mapping) or texts is None:
            raise fault("expected a text or a list of texts", str(word))
        if word != OTHERS and not bare(str(word)):
            raise fault(f'expected a wake word, or "{OTHERS}" for all others', str(word))
    listed = {
        word: texts if isinstance(texts, list | tuple) else [texts] for word, texts in value.items()
    }
    return WakeGreetings.of(_TEXTS_BY_WORD.validate_python(listed))


WakeReply = Annotated[str | WakeGreetings, BeforeValidator(_wake_reply)]
"""What is said to a wake word."""
