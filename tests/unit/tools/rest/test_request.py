"""URL templates: an argument fills its own place and nothing else."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ConfigError, ToolError
from vixio.tools.rest.config import RestToolConfig
from vixio.tools.rest.request import build, check_template


def config(url: str, method: str = "GET", **more: Any) -> RestToolConfig:  # noqa: ANN401 - its fields
    names = more.pop("names", ("city", "day", "tags"))
    schema = {"type": "object", "properties": {name: {} for name in names}}
    return RestToolConfig("t", "T.", method, url, schema, **more)  # type: ignore[arg-type] # checked elsewhere


def test_path_query_and_constants() -> None:
    it = config("https://h.example:8443/v1/{city}/now?units=m", constants={"key": "k&y", "n": 2})
    check_template(it)
    request = build(it, {"city": "São Paulo/../x", "day": None, "tags": ["a b", "c"]})
    parts = urlsplit(request.url)
    assert parts.netloc == "h.example:8443"
    assert parts.path == "/v1/S%C3%A3o%20Paulo%2F..%2Fx/now"
    assert parse_qsl(parts.query) == [
        ("units", "m"),
        ("tags", "a b"),
        ("tags", "c"),
        ("key", "k&y"),
        ("n", "2"),
    ]
    assert request.body is None


def test_body_and_query() -> None:
    it = config("http://h/items/{city}", "POST", places={"day": "query"}, constants={"by": "me"})
    request = build(it, {"city": "x", "day": 3, "tags": [1, {"a": None}]})
    assert request.url == "http://h/items/x?day=3"
    assert json.loads(request.body or b"") == {"tags": [1, {"a": None}], "by": "me"}
    assert request.headers["Content-Type"] == "application/json"
    whole = config("http://h/items", "PUT", body_parameter="tags")
    assert json.loads(build(whole, {"tags": ["a"]}).body or b"") == ["a"]


@pytest.mark.parametrize("city", ["", " ", ".", "..", None, []])
def test_a_segment_that_would_move_the_path_is_refused(city: object) -> None:
    with pytest.raises(ToolError) as caught:
        build(config("http://h/a/{city}/b"), {"city": city})
    assert caught.value.type == "invalid_arguments"
    assert caught.value.retryable


@given(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.booleans()))
def test_a_value_stays_in_its_segment(city: object) -> None:
    try:
        request = build(config("http://host.example:81/a/{city}/b"), {"city": city, "day": city})
    except ToolError:
        return
    parts = urlsplit(request.url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("http", "host.example:81", "")
    _, first, segment, last = parts.path.split("/")
    assert (first, last) == ("a", "b")
    assert segment not in {"", ".", ".."}
    assert [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)] == ["day"]


@pytest.mark.parametrize(
    ("url", "method", "more", "message"),
    [
        ("ftp://h/x", "GET", {}, "with http:// or https://"),
        ("h/x", "GET", {}, "with http:// or https://"),
        ("http://{city}/x", "GET", {}, "must not stand in the host"),
        ("http://h:{city}/x", "GET", {}, "port"),
        ("http://u:p@h/x", "GET", {}, "no user or password"),
        ("http://h/{town}", "GET", {}, "no parameter 'town'"),
        ("http://h/x?q={city}", "GET", {}, "put no parameter into the query"),
        ("http://h/{city", "GET", {}, "brace"),
        ("http://h/x", "GET", {"places": {"town": "query"}}, "no parameter 'town'"),
        ("http://h/x", "GET", {"places": {"city": "body"}}, "GET has none"),
    ],
)
def test_an_invalid_template(url: str, method: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_template(config(url, method, **more))


def test_arguments_that_are_too_long_are_refused() -> None:
    with pytest.raises(ToolError, match="too long for a URL"):
        build(config("http://h/x"), {"city": "x" * 9_000})
    with pytest.raises(ToolError, match="too long"):
        build(config("http://h/x", "POST"), {"city": "x" * 300_000})
