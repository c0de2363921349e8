"""Says what stands at an address: an OpenAPI document, an agent's card, else a server of MCP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from vixio.core.errors import ConfigError, ToolError
from vixio.tools.mcp.settings import TAKEN
from vixio.tools.pasted.servers import Pasted, name_of_url, source_name
from vixio.tools.pasted.text import Mistake, PasteError
from vixio.tools.rest.client import RestClient
from vixio.tools.rest.request import RestRequest

LOOK_S: Final = 10.0

MAX_OPERATIONS: Final = 40
"""Of a document, of which a person has named none."""

_METHODS: Final = ("get", "post", "put", "patch", "delete")


async def read_address(
    url: str, headers: Mapping[str, str], taken: frozenset[str], *, private: bool
) -> Pasted:
    """Return the source at ``url``. ``private``: it may be in a private network.

    Raises PasteError.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PasteError(Mistake("expected an address that begins with http:// or https://"))
    name = source_name(name_of_url(url), TAKEN | taken)
    options: dict[str, Any] = {"headers": dict(headers)} if headers else {}
    if PurePosixPath(parts.path).name in ("mcp", "sse"):
        return Pasted(name, "mcp", {"url": url, **options})
    found = await _look(url, headers, private=private)
    if "openapi" in found or "swagger" in found:
        return Pasted(
            name, "openapi", {"document": url, "operations": _operations(found), **options}
        )
    if "skills" in found:
        return Pasted(name, "a2a", {"url": url, **options})
    return Pasted(name, "mcp", {"url": url, **options})


async def _look(url: str, headers: Mapping[str, str], *, private: bool) -> Mapping[str, Any]:
    """Return the JSON or YAML at an address; empty: there is something else."""
    await asyncio.to_thread(__import__, "httpx2")
    client = RestClient()
    asked = {"Accept": "application/json, application/yaml, text/event-stream", **headers}
    try:
        async with asyncio.timeout(LOOK_S):
            request = RestRequest("GET", url, asked, None)
            async with client.open(request, timeout=LOOK_S, private=private) as answer:
                kind = answer.headers.get("content-type", "")
                if answer.status_code != 200 or "event-stream" in kind:
                    return {}  # a server of MCP answers so
                body = await _body(answer)
        return await asyncio.to_thread(_document, body)
    except TimeoutError:
        return {}
    except ToolError as error:
        words = str(error) if error.type == "denied" else f"{urlsplit(url).hostname}: {error}"
        raise PasteError(Mistake(words)) from None
    finally:
        await client.close()


async def _body(answer: Any) -> bytes:  # noqa: ANN401 - of httpx2
    from vixio.tools.rest.openapi import MAX_DOCUMENT_BYTES

    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > MAX_DOCUMENT_BYTES:
            raise PasteError(Mistake(f"it has more than {MAX_DOCUMENT_BYTES // 1024} KB"))
    return bytes(body)


def _document(body: bytes) -> Mapping[str, Any]:
    from vixio.tools.rest.openapi import parse_document  # imports yaml

    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        try:
            found = parse_document(body)
        except ConfigError:
            return {}
    return found if isinstance(found, dict) else {}


def _operations(document: Mapping[str, Any]) -> list[str]:
    """Return the ids of the first operations, those that only read before the others."""
    paths = document.get("paths")
    found = [
        (method, operation["operationId"])
        for item in (paths.values() if isinstance(paths, dict) else ())
        if isinstance(item, dict)
        for method, operation in item.items()
        if method in _METHODS and isinstance(operation, dict) and operation.get("operationId")
    ]
    found.sort(key=lambda each: each[0] != "get")
    if not found:
        raise PasteError(Mistake("no operation of this OpenAPI document has an operationId"))
    return [str(name) for _, name in found[:MAX_OPERATIONS]]
