"""What servers of models do that the API does not say, as data: one row, one quirk.

A :class:`Quirk` says what the server answers and what must come of it: what is said, which calls
reach the device, which results go back to the model. ``test_quirks.py`` runs every row of every
table against every agent provider. Tables:

- ``streams.py``: the pieces of a call in a stream;
- ``names.py``: what a model calls a tool;
- ``arguments.py``: what it writes as their arguments;
- ``refusals.py``: requests that a service refuses because of their tools;
- ``texts.py``: calls, reasoning and tokens in the text.

To add a quirk, add a row, with the report that it is from. To add a table, write a
module with ``QUIRKS`` and name it in ``test_quirks.py``. To test a provider of your own, add it to
``agents.py``, or use :class:`~tests.quirks.service.Service` alone: it is a server of the protocol
(Chat Completions and Responses) that is scripted by rows and refuses what OpenAI refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.llm_server import Answer, Call, JsonObject, chunk, text

VOLUME: Final = "self.audio_speaker.set_volume"
LAMP: Final = "self.lamp.turn_on"
CHINESE: Final = "打开灯"

TOOLS: Final[dict[str, JsonObject]] = {
    VOLUME: {
        "type": "object",
        "properties": {"volume": {"type": "integer", "minimum": 0, "maximum": 100}},
        "required": ["volume"],
    },
    LAMP: {"type": "object", "properties": {}},
    CHINESE: {"type": "object", "properties": {}},
}
"""The tools of the device in every row, by their real names."""

SAID: Final = "It is done."

Made = tuple[str, JsonObject]
"""A call that reaches the device: the tool's real name, and the arguments."""


@dataclass(frozen=True)
class Quirk:
    """One way in which a server departs from the API.

    What it does is one of ``calls`` (whole and in the protocol's own form, odd in what they say),
    ``refusals`` (HTTP errors), ``pieces`` (entries of ``tool_calls`` in a Chat Completions stream,
    one event each; a list is several in one event) and ``answers`` (any, to the end of the turn, in
    Chat Completions). All but the last end with :data:`SAID`.
    """

    name: str
    source: str = ""
    """The report, or whose server it is."""
    calls: Sequence[Call] = ()
    refusals: Sequence[Answer] = ()
    pieces: Sequence[Any] = ()
    answers: Sequence[Answer] = ()
    dialect: str = "openai"
    """What the service refuses: a function of ``service.py``."""
    tools: dict[str, JsonObject] = field(default_factory=dict)
    """Further tools of the device."""

    said: str = SAID
    made: Sequence[Made] = ()
    results: Sequence[str] = ()
    """Texts, one for each result of a call that the model gets; each has to contain its own."""
    requests: int = 2
    """To the model, in the first turn."""
    left_out: Sequence[str] = ()
    """Tools that the last request does not offer, nor any request of a second turn."""

    @property
    def of_every_api(self) -> bool:
        """Whether it can be said in each API's own words."""
        return not (self.pieces or self.answers)


def volume(*levels: int) -> list[Made]:
    """Return calls of the volume."""
    return [(VOLUME, {"volume": level}) for level in levels]


def streamed(pieces: Sequence[Any]) -> Answer:
    """Return an answer that calls tools in ``pieces``."""
    events = [chunk({"role": "assistant", "content": None})]
    for piece in pieces:
        entries = piece if isinstance(piece, list) else [piece]
        events.append(chunk({"tool_calls": entries}))
    return Answer([*events, chunk({}, "tool_calls"), "data: [DONE]\n\n"])


def done() -> Answer:
    """Return the last answer of a turn."""
    return text(SAID)
