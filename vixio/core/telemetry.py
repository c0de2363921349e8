"""Switches off what libraries send or fetch by themselves, before any of them is loaded.

``vixio/__init__.py`` calls :func:`switch_off`, so it holds for every program that imports anything
of Vixio, and the environment carries it to child processes. docs/security.md says what each
library would send. What a library has no variable for is switched off where it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Final

ONNXRUNTIME: Final = "ORT_DISABLE_TELEMETRY"
"""Read once, when the library is loaded. ``1``, ``true`` and ``yes`` disable it, nothing else."""

SWITCHES: Final[Mapping[str, str]] = {
    ONNXRUNTIME: "1",
    # huggingface_hub and hf_xet: reports of transfers, and versions in the User-Agent.
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # LiteLLM fetches both from GitHub: prices at its import, and a table of Anthropic's headers.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    # openai-agents: each turn with its words, to OpenAI, where there is a key of OpenAI's.
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    # FastAPI: requests and errors, to an OpenTelemetry endpoint that is meant for Vixio's traces.
    "FASTAPI_OTEL_AUTO_CONFIGURE": "false",
}
"""Environment variable → the value that switches something off."""


def switch_off(environment: MutableMapping[str, str]) -> None:
    """Set the variables of SWITCHES in ``environment``; one that has a value keeps it."""
    for name, value in SWITCHES.items():
        if not environment.get(name):  # an empty one disables nothing, and decides nothing
            environment[name] = value


def decided_otherwise(name: str, environment: Mapping[str, str]) -> bool:
    """Return whether the operator has given the variable ``name`` another value than SWITCHES."""
    return environment.get(name, SWITCHES[name]) != SWITCHES[name]
