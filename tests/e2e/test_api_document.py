"""The API keeps to its document: schemathesis makes the requests, with each kind of token."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import ApiServer, api_server
from vixio.web.api.scopes import Scope

NO_LIMITS = {"requests_per_minute": 0, "logins_per_minute": 1_000}

NAMES = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
"""Not that wrong data is refused: it counts unknown parameters of a query, which HTTP allows, and
the missing token, which the test adds. That bodies are strict is tested in tests/unit/web/api."""

LEFT_OUT = ("/api/v1/logout", "/api/v1/events")
"""The first makes the token of the test void, the second does not end; both are tested apart."""

MISSING = {"GET /api/v1/memory"}
"""The server of the test remembers nothing."""

EVERYBODY = {"public"}
PASSWORDS = ("/api/v1/login", "/api/v1/login/link", "/api/v1/password")
"""A password that is made up is denied to everybody."""
DENIED = (401, 403)

FEW = settings(
    max_examples=int(os.environ.get("VIXIO_API_EXAMPLES", "3")),  # for each route
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Caller:
    """Who asks. ``allowed``: the rules of the routes that are for it; ``seen``: what it got."""

    kind: str
    headers: dict[str, str]
    allowed: Collection[str]
    seen: Counter[int] = field(default_factory=Counter)
    served: set[str] = field(default_factory=set)
    """The operations that succeeded for it."""
    session: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        # Else the environment is searched for proxies before each request, and files for passwords.
        self.session.trust_env = False

    def call(self, case: Case[Any]) -> Any:  # noqa: ANN401 - of schemathesis
        """Send a request, by the connection of the one before, and with nothing else of that."""
        self.session.cookies.clear()
        return case.call(headers=self.headers, session=self.session)


Renew = Callable[[Caller], dict[str, str]]


def ask_everything(
    url: str, document: dict[str, Any], callers: Sequence[Caller], renew: Renew
) -> None:
    """Send what the document allows, and what it does not, as each of the callers.

    Requests are made up once for all of them, which takes longer than to send them. ``renew``:
    returns headers with another token.
    """
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=url)
    checks: Any = CHECKS.get_by_names(NAMES)

    right = True
    """Whether the requests are made up as the document has them."""

    def ask(case: Case[Any]) -> None:
        access = case.operation.definition.raw["x-access"]
        for caller in callers:
            answer = caller.call(case)
            allowed = access in (caller.allowed if carried(answer, caller) else EVERYBODY)
            if answer.status_code == 401 and allowed and case.path not in PASSWORDS:
                # A request before this one has revoked its token, or all of them.
                caller.headers = renew(caller)
                answer = caller.call(case)
            caller.seen[answer.status_code] += 1
            case.validate_response(answer, checks=checks)
            what = f"{case.operation.label} as {caller.kind}: {answer.status_code}"
            if not allowed:
                assert answer.status_code >= 400, what
            elif right and case.path not in PASSWORDS:
                assert answer.status_code not in DENIED, what
            if answer.status_code < 300:
                caller.served.add(case.operation.label)

    operations: Any = schema.get_all_operations()
    for result in operations:
        operation = result.ok()
        if operation.path not in LEFT_OUT:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                right = mode is GenerationMode.POSITIVE
                cases: SearchStrategy[Case[Any]] = operation.as_strategy(generation_mode=mode)
                try:
                    FEW(given(cases)(ask))()
                except Unsatisfiable:
                    # Nothing can be wrong in a request without values; else it is a mistake here.
                    assert mode is GenerationMode.NEGATIVE, operation.label
                    assert not values(operation.definition.raw), operation.label


def carried(answer: Any, caller: Caller) -> bool:  # noqa: ANN401 - of schemathesis
    """Whether a request had the caller's token: some are made up to have none, or another one."""
    sent = answer.request.headers.get("Authorization")
    return bool(sent == caller.headers.get("Authorization"))


def values(operation: Mapping[str, Any]) -> list[str]:
    """Return the parameters of an operation, and its body, that may be wrong."""
    return [each["name"] for each in operation.get("parameters", ())] + [
        "body" for _ in operation.get("requestBody", {}).get("content", ())
    ]


def readable(document: Mapping[str, Any], caller: Caller) -> set[str]:
    """Return the operations for a caller that only read, and need no value that has to exist."""
    return {
        f"GET {path}"
        for path, methods in document["paths"].items()
        if (get := methods.get("get")) and "{" not in path and path not in LEFT_OUT
        if get["x-access"] in caller.allowed
        if not any(each.get("required") for each in get.get("parameters", ()))
    }


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
@pytest.mark.timeout(600)  # a thousand requests, beside whatever else the machine does
async def test_nothing_outside_the_document_and_nothing_beyond_the_scope(tmp_path: Path) -> None:
    async with api_server(tmp_path, api=NO_LIMITS, server={"auth": {"enabled": True}}) as api:
        kinds = ("nobody", "device", "narrow", "full")
        callers = [await make_caller(api, kind) for kind in kinds]
        url = api.server.http_url
        async with api.http.get(f"{url}/api/v1/openapi.json") as answer:
            document = json.loads(await answer.text())
        loop = asyncio.get_running_loop()

        def renew(caller: Caller) -> dict[str, str]:
            again = asyncio.run_coroutine_threadsafe(make_caller(api, caller.kind), loop)
            return again.result(60).headers

        await asyncio.to_thread(ask_everything, url, document, callers, renew)
        assert api.server.count("api.failed") == 0
        for caller in callers:
            assert caller.seen[500] == 0
            assert sum(caller.seen.values()) > 200
        full = callers[-1]
        assert full.seen[404] > 0
        assert readable(document, full) - full.served == MISSING
        assert len(full.served) > 30
