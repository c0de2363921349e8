"""The API keeps to its document: schemathesis makes the requests, with each kind of token."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import ApiServer, api_server
from vixio.api.scopes import Scope

NO_LIMITS = {"requests_per_minute": 0, "logins_per_minute": 1_000}

NAMES = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
"""Not that wrong data is refused: it counts unknown parameters of a query, which HTTP allows, and
the missing token, which the test adds. That bodies are strict is tested in tests/unit/api."""

LEFT_OUT = ("/api/v1/logout", "/api/v1/events")
"""The first makes the token of the test void, the second does not end; both are tested apart."""

EVERYBODY = {"public"}

FEW = settings(
    max_examples=int(os.environ.get("VIXIO_API_EXAMPLES", "3")),  # for each route
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True)
class Caller:
    """Who asks. ``allowed``: the rules of the routes that are for it; ``seen``: what it got."""

    kind: str
    headers: dict[str, str]
    allowed: Collection[str]
    seen: Counter[int] = field(default_factory=Counter)


def ask_everything(url: str, document: dict[str, object], callers: Sequence[Caller]) -> None:
    """Send what the document allows, and what it does not, as each of the callers.

    Requests are made up once for all of them, which takes longer than to send them.
    """
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=url)
    checks: Any = CHECKS.get_by_names(NAMES)

    def ask(case: Case[Any]) -> None:
        for caller in callers:
            answer = case.call(headers=caller.headers)
            caller.seen[answer.status_code] += 1
            case.validate_response(answer, checks=checks)
            if case.operation.definition.raw["x-access"] not in caller.allowed:
                assert answer.status_code >= 400, f"{case.operation.label} as {caller.kind}"

    operations: Any = schema.get_all_operations()
    for result in operations:
        operation = result.ok()
        if operation.path not in LEFT_OUT:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                cases: SearchStrategy[Case[Any]] = operation.as_strategy(generation_mode=mode)
                with suppress(Unsatisfiable):  # nothing can be wrong in a request without values
                    FEW(given(cases)(ask))()


async def make_caller(api: ApiServer, kind: str) -> Caller:
    """Return a caller of a kind, with a token for it."""
    if kind == "nobody":
        return Caller(kind, {}, EVERYBODY)
    if kind == "device":
        async with SimulatedDevice(api.server.device()) as device:
            config = device.config
        token = config.flash.nvs.string("websocket", "token")
        names = {"Device-Id": config.device_id, "Client-Id": config.client_id}
        headers = {"Authorization": f"Bearer {token}", **names}
        return Caller(kind, headers, {*EVERYBODY, "device"})
    scope = {"narrow": Scope.DEVICES_READ, "full": Scope.ADMIN}[kind]
    rules = {str(each) for each in Scope} if kind == "full" else {str(scope)}
    headers = {"Authorization": f"Bearer {await api.token(scope)}"}
    return Caller(kind, headers, {*EVERYBODY, "any token", *rules})


@pytest.mark.slow
async def test_nothing_outside_the_document_and_nothing_beyond_the_scope(tmp_path: Path) -> None:
    async with api_server(tmp_path, api=NO_LIMITS, server={"auth": {"enabled": True}}) as api:
        kinds = ("nobody", "device", "narrow", "full")
        callers = [await make_caller(api, kind) for kind in kinds]
        url = api.server.http_url
        async with api.http.get(f"{url}/api/v1/openapi.json") as answer:
            document = json.loads(await answer.text())
        await asyncio.to_thread(ask_everything, url, document, callers)
        assert api.server.count("api.failed") == 0
        for caller in callers:
            assert caller.seen[500] == 0
            assert sum(caller.seen.values()) > 200
        full = callers[-1].seen
        assert any(status < 300 for status in full)
        assert full[404] > 0
