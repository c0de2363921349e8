"""Which providers the server under load has, and the settings that name them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

from vixio.core.extras import how_to_install
from vixio_bench.load.services.openai import MODEL

SCRIPTED: Final = "scripted"
HTTP: Final = "http"
FUNASR_SERVER: Final = "funasr-server"
EDGE: Final = "edge"
INSTEAD: Final = (FUNASR_SERVER, EDGE)
"""May follow ``http``: another recogniser, another voice."""


def parse(text: str) -> str:
    """Return the choice in its one spelling: ``scripted``, or ``http`` with others after it.

    Raises ValueError for another one, and if a package is missing.
    """
    first, *others = text.split(",")
    if unknown := [name for name in others if name not in INSTEAD]:
        raise ValueError(f"--providers: expected {' or '.join(INSTEAD)}, not {unknown[0]!r}")
    if first not in (SCRIPTED, HTTP) or (others and first != HTTP):
        raise ValueError(f"--providers: expected scripted, http or http,NAME,…, not {text!r}")
    if EDGE in others and not all(map(find_spec, ("edge_tts", "miniaudio"))):
        raise ValueError(f"--providers {text}: to install what it needs: {how_to_install('edge')}")
    return ",".join([first, *(name for name in INSTEAD if name in others)])


def has(providers: str, name: str) -> bool:
    """Return whether ``name`` is part of the choice."""
    return name in providers.split(",")


def sections(providers: str, said: dict[str, Any]) -> dict[str, Any]:
    """Return the sections of the settings for ``providers``.

    ``said``: the first message of the stand-ins' process, with their addresses by name. Edge's
    provider has no setting for its own: see :func:`vixio_bench.load.services.edge.redirect`.
    """
    if providers == SCRIPTED:
        return {}
    service = {"name": "openai", "base_url": said[HTTP], "model": MODEL}
    found = dict.fromkeys(("asr", "agent", "tts"), service)
    if has(providers, FUNASR_SERVER):
        found["asr"] = {"name": FUNASR_SERVER, "url": said[FUNASR_SERVER]}
    if has(providers, EDGE):
        found["tts"] = {"name": EDGE}
    return found
