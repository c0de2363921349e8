"""Which providers the server under load has, and the settings that name them."""

from __future__ import annotations

from typing import Any, Final

from vixio.bench.load.services.openai import MODEL

SCRIPTED: Final = "scripted"
HTTP: Final = "http"
CHOICES: Final = (SCRIPTED, HTTP)


def sections(providers: str, said: dict[str, Any]) -> dict[str, Any]:
    """Return the sections of the settings for ``providers``.

    ``said``: the first message of the stand-ins' process, with their addresses.
    """
    if providers == SCRIPTED:
        return {}
    service = {"base_url": said["url"], "model": MODEL}
    return {
        "asr": {"name": "openai", **service},
        "agent": {"name": "openai", **service},
        "tts": {"name": "openai", **service},
    }
