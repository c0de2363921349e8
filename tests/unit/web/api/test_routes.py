"""Every route states who may call it, and the document says it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast, get_args

import pytest
from fastapi.routing import APIRoute

from vixio.core.emotions import EMOTIONS
from vixio.settings.api import ApiSection
from vixio.web.api.access import RULES, Rule, public
from vixio.web.api.app import RESOURCES, make_fastapi
from vixio.web.api.ports import Ports
from vixio.web.api.routes.control import Emotion
from vixio.web.api.routes.tokens import ScopeName
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope

PUBLIC = {
    ("GET", "/api/v1/login"),
    ("POST", "/api/v1/login"),
    ("POST", "/api/v1/login/link"),
    ("GET", "/api/v1/openapi.json"),
}
"""The only routes without a token."""


def routes() -> Iterator[APIRoute]:
    """Yield all routes of the API."""
    for resource in RESOURCES:
        for route in resource.make_routes().router.routes:
            assert isinstance(route, APIRoute)
            yield route


def rules_of(route: APIRoute) -> list[str]:
    """Return the rules of access that a route has among its dependencies."""
    called = [cast("Rule", each.call) for each in route.dependant.dependencies]
    return [RULES[each] for each in called if each in RULES]


def test_every_route_has_exactly_one_rule() -> None:
    found = {
        (method, each.path): rules_of(each) for each in routes() for method in each.methods or ()
    }
    assert len(found) > 30
    assert {key: its for key, its in found.items() if len(its) != 1} == {}
    assert {key for key, its in found.items() if its == [RULES[public]]} == PUBLIC


def test_a_route_without_a_rule_is_found() -> None:
    async def endpoint() -> None: ...

    planted = Routes("planted").router
    planted.add_api_route("/open", endpoint)
    (route,) = planted.routes
    assert isinstance(route, APIRoute)
    assert rules_of(route) == []


def test_routes_are_only_under_the_prefix() -> None:
    assert all(each.path.startswith("/api/v1/") for each in routes())


def test_the_first_request_makes_no_routes() -> None:
    """FastAPI makes those of an included router then, in the event loop."""
    limits = SimpleNamespace(on_charge=lambda *_: None)
    ports = SimpleNamespace(cluster=SimpleNamespace(limits=limits))
    app = make_fastapi(ApiSection(), cast(Ports, ports))
    assert {type(each) for each in app.routes} == {APIRoute}
    assert len(app.routes) == len(list(routes()))


def test_every_scope_is_used_and_says_what_it_permits() -> None:
    used = {rule for each in routes() for rule in rules_of(each)}
    assert {str(scope) for scope in Scope} <= used


def test_the_values_of_strict_bodies_are_those_of_the_house() -> None:
    assert set(get_args(ScopeName)) == {scope.value for scope in Scope}
    assert set(get_args(Emotion)) == set(EMOTIONS)


@pytest.mark.parametrize("route", list(routes()), ids=lambda each: f"{each.path}")
def test_a_body_is_strict_and_closed(route: APIRoute) -> None:
    for parameter in route.dependant.body_params:
        model: Any = parameter.field_info.annotation
        assert model.model_config["strict"] is True
        assert model.model_config["extra"] == "forbid"
