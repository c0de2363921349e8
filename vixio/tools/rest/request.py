"""Builds a tool's request from its arguments: path, query and body. The host is fixed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from vixio.core.errors import ConfigError, ToolError
from vixio.core.tools.types import JsonObject
from vixio.core.well_formed import well_formed
from vixio.tools.rest.config import WITHOUT_BODY, RestToolConfig

MAX_URL_CHARS = 8_000
MAX_BODY_BYTES = 256 * 1024

_SLOT = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class RestRequest:
    """A request. ``body``: JSON, or None without one."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)


def check_template(config: RestToolConfig) -> None:
    """Raise ConfigError if the URL's template or its parameters are invalid."""
    parts = urlsplit(config.url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(
            "url: expected an address such as https://api.example.org/v1, with http:// or https://"
        )
    if parts.username or parts.password:
        raise ConfigError("url: no user or password in it; set a header")
    try:
        _ = parts.port
    except ValueError:
        raise ConfigError("url: the port is not a number up to 65535") from None
    if "{" in parts.netloc or "}" in parts.netloc:
        raise ConfigError("url: a parameter must not stand in the host or the port")
    if "{" in parts.query or "{" in parts.fragment:
        raise ConfigError(
            "url: put no parameter into the query; a parameter with a schema is added to it"
        )
    known = {*config.parameters.get("properties", {}), *config.constants}
    for name in _SLOT.findall(parts.path):
        if name not in known:
            raise ConfigError(f"url: there is no parameter {name!r} (known: {_list(known)})")
    for name, place in config.places.items():
        if name not in known:
            raise ConfigError(f"{place}: there is no parameter {name!r} (known: {_list(known)})")
        if place == "body" and config.method in WITHOUT_BODY:
            raise ConfigError(f"body: {config.method} has none")
    if "{" in _SLOT.sub("", parts.path) or "}" in _SLOT.sub("", parts.path):
        raise ConfigError("url: unbalanced brace")


def build(config: RestToolConfig, arguments: JsonObject) -> RestRequest:
    """Return the request for checked ``arguments``. Raises ToolError."""
    given = {**arguments, **config.constants}
    parts = urlsplit(config.url)
    path = _SLOT.sub(lambda slot: _segment(slot[1], given), parts.path)
    in_path = set(_SLOT.findall(parts.path))
    query = parse_qsl(parts.query, keep_blank_values=True)
    body: Any = None
    for name, value in given.items():
        if name in in_path or value is None:
            continue
        if name == config.body_parameter:
            body = value
            continue
        place = config.places.get(name, "query" if config.method in WITHOUT_BODY else "body")
        if place == "query":
            query += [(name, _text(each)) for each in _several(value)]
        else:
            body = {} if body is None else body
            body[name] = value
    url = urlunsplit((parts.scheme, parts.netloc, path or "/", urlencode(query), ""))
    if len(url) > MAX_URL_CHARS:
        raise ToolError("invalid_arguments", "the arguments are too long for a URL", retryable=True)
    if body is None and config.method not in WITHOUT_BODY:
        body = {}
    data = None if body is None else well_formed(json.dumps(body, ensure_ascii=False)).encode()
    if data is not None and len(data) > MAX_BODY_BYTES:
        raise ToolError("invalid_arguments", "the arguments are too long", retryable=True)
    headers = {"Accept": "application/json, text/*;q=0.8", **config.headers}
    if data is not None:
        headers["Content-Type"] = "application/json"
    return RestRequest(config.method, url, headers, data)


def _segment(name: str, given: JsonObject) -> str:
    """Return a value as one path segment; it can neither add segments nor go up."""
    value = given.get(name)
    text = "" if value is None else ",".join(map(_text, _several(value)))
    if text.strip() in {"", ".", ".."}:
        message = (
            f"{name}: a value is needed" if not text.strip() else f"{name}: {text!r} is not allowed"
        )
        raise ToolError("invalid_arguments", message, retryable=True)
    return quote(text, safe="")


def _several(value: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        # Half a surrogate pair cannot be encoded.
        return well_formed(value)
    return json.dumps(value, ensure_ascii=False)


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
