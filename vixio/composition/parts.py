"""The parts of a server as the API shows them: from memory, nothing is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from vixio.core.messages import reason
from vixio.core.wall_clock import now_ms
from vixio.providers.agent import AgentBackend
from vixio.providers.fallback.candidates import FallbackProvider
from vixio.tools.from_settings import specs_of
from vixio.web.api.server_view import (
    Candidate,
    FaultPart,
    PartList,
    ProviderPart,
    SourcePart,
    ToolPart,
)

if TYPE_CHECKING:
    from vixio.providers.pool.loader import ProviderLoader
    from vixio.server import Server

MAX_TOOLS: Final = 500
MAX_DESCRIPTION: Final = 1_000
"""Characters; a service may offer anything."""

_STATES: Final = {"open": "resting", "half_open": "trying", "not started": "not_started"}


def parts_of(app: Server) -> PartList:
    """Return the providers and the tool sources of a server."""
    return PartList(process=os.getpid(), providers=_providers(app), sources=_sources(app))


def _providers(app: Server) -> list[ProviderPart]:
    default = {id(each) for each in app.providers.default_loaders()}
    pool = app.providers.pool
    return [
        _provider(loader, state, id(loader) in default)
        for loader, state in zip(pool.loaders(), pool.stats(), strict=True)
    ]


def _provider(loader: ProviderLoader[Any], state: Mapping[str, Any], default: bool) -> ProviderPart:
    trouble = loader.trouble
    return ProviderPart(
        kind=state["kind"],
        name=state["provider"],
        state=state["state"],
        reason=_words(trouble.reason) if trouble is not None else "",
        detail=_line(trouble),
        default=default,
        users=state["sessions"],
        candidates=_candidates(loader.provider),
    )


def _candidates(provider: object) -> list[Candidate]:
    """Return those of a list or of several servers; none of a single provider."""
    if isinstance(provider, FallbackProvider):
        return [
            _candidate(state, _line(each.error), _candidates(each.provider))
            for state, each in zip(provider.stats(), provider.candidates.all, strict=True)
        ]
    if isinstance(provider, AgentBackend):
        return [_candidate(state, "", []) for state in provider.stats()]
    return []


def _candidate(state: Mapping[str, Any], detail: str, servers: list[Candidate]) -> Candidate:
    rests = state.get("retry_in_s")
    return Candidate(
        name=str(state.get("provider") or state.get("model", "")),
        state=_STATES.get(state.get("state", "ready"), state.get("state", "ready")),
        server=state.get("server", ""),
        reason=_words(state.get("reason", "")),
        detail=detail,
        failures=state.get("failures", 0),
        rests_until=None if rests is None else now_ms() + round(rests * 1000),
        served=state.get("served"),
        failed=state.get("failed"),
        pending=state.get("pending"),
        servers=servers,
    )


def _sources(app: Server) -> list[SourcePart]:
    types = {spec.name: spec.type for spec in specs_of(app.settings)}
    types |= {each.name: "builtin" for each in app.reminders.sources} | {"app": "program"}
    found: list[SourcePart] = []
    for each in app.tools.reports():
        state = "failed" if each.faults else "loading" if each.pending else "ready"
        found.append(
            SourcePart(
                name=each.name,
                type=types.get(each.name, "program"),
                state=state,
                faults=[FaultPart(place=one.place, reason=one.reason) for one in each.faults],
                tools=[
                    ToolPart(name=tool.name, description=tool.description[:MAX_DESCRIPTION])
                    for tool in _first(each.tools)
                ],
            )
        )
    return found


def _first(tools: Sequence[Any]) -> Sequence[Any]:
    return tools[:MAX_TOOLS]


def _words(key: str) -> str:
    return reason(key, "en") if key else ""


def _line(error: BaseException | None) -> str:
    return " ".join(str(error).split()) if error is not None else ""
