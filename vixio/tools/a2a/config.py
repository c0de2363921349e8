"""How to reach a remote agent, and how its answers are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from vixio.core.backoff import Backoff

Stream = Literal["say", "result"]

RECONNECT: Final = Backoff(first=0.5, longest=60.0)
"""Delays between attempts to read the card of an agent that is away."""


@dataclass(frozen=True, slots=True)
class A2aConfig:
    """One agent. ``headers`` and ``url`` may contain secrets.

    ``name``: of the source, in patterns, counters and in front of colliding names. ``url``: of the
    agent, or of its card if it ends in ``.json``. ``allow``, ``deny``: patterns of skill ids, with
    the wildcards of file names. ``confirm``: each call needs the user's yes. ``timeout``: seconds
    for one call in its turn. ``later``: seconds without a word after which the answer is delivered
    later, 0 for never. ``stream``: ``say`` speaks the agent's words as they come, ``result`` gives
    the model the whole answer. ``allow_private``: whether the agent may have an address of this
    machine or a private network. ``refresh``: seconds between readings of the card, 0 for none.
    ``place``: the key path of the settings, for messages.
    """

    name: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    confirm: bool = False
    connect_timeout: float = 10.0
    timeout: float = 30.0
    later: float = 10.0
    stream: Stream = "say"
    allow_private: bool = False
    refresh: float = 60.0
    reconnect: Backoff = RECONNECT
    place: str = "tools.a2a"
