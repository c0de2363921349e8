"""Operations of OpenAPI documents as tools, and the faults of those that cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.waiting import until
from tests.unit.tools.rest.service import Service, running, saying
from tests.unit.tools.rest.test_source import call
from vixio.core.backoff import Backoff
from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters
from vixio.core.tools.runtime import ToolRuntime
from vixio.tools.rest.config import RestToolConfig
from vixio.tools.rest.openapi import OpenApiConfig, OperationConfig, parse_document, to_configs
from vixio.tools.rest.openapi_source import OpenApiSource

DOCUMENT: dict[str, Any] = yaml.safe_load("""
openapi: 3.0.3
info: {title: Lamps, version: "1"}
servers: [{url: "https://{place}.example/api", variables: {place: {default: home}}}]
paths:
  /lamps/{lamp}:
    parameters:
      - {$ref: "#/components/parameters/lamp"}
    get:
      operationId: getLamp
      summary: Tell the state.
      parameters:
        - {name: units, in: query, schema: {type: string, nullable: true, enum: [si]}}
        - {name: X-Trace, in: header, schema: {type: string}}
    put:
      operationId: setLamp
      description: Set it.
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: "#/components/schemas/State"}
    delete:
      operationId: removeLamp
    patch:
      operationId: needsHeader
      parameters:
        - {name: X-Needed, in: header, required: true, schema: {type: string}}
    post:
      operationId: upload
      requestBody: {required: true, content: {image/png: {}}}
  /trees:
    post:
      operationId: plant
      requestBody:
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Tree"}
    get:
      operationId: outside
      parameters: [{$ref: "other.yaml#/x"}]
components:
  parameters:
    lamp: {name: lamp, in: path, required: true, description: Which one., schema: {type: string}}
  schemas:
    State:
      type: object
      required: ["on"]
      properties:
        "on": {type: boolean, example: true}
        level: {type: integer, minimum: 0, exclusiveMinimum: true, maximum: 100}
    Tree:
      type: object
      properties:
        name: {type: string}
        children: {type: array, items: {$ref: "#/components/schemas/Tree"}}
""")


def config(*operations: str, **more: Any) -> OpenApiConfig:  # noqa: ANN401 - its fields
    wanted = {operation: OperationConfig() for operation in operations}
    return OpenApiConfig("lamps", "lamps.yaml", wanted, **more)


def tools(
    *operations: str,
    **more: Any,  # noqa: ANN401 - as above
) -> tuple[dict[str, RestToolConfig], dict[str, str]]:
    found, faults = to_configs(DOCUMENT, config(*operations, **more))
    return {tool.name: tool for tool in found}, faults


def test_an_operation_becomes_a_tool() -> None:
    found, faults = tools("getLamp", "setLamp", "removeLamp")
    assert faults == {}
    get = found["getLamp"]
    assert (get.method, get.url) == ("GET", "https://home.example/api/lamps/{lamp}")
    assert get.description == "Tell the state."
    assert get.parameters == {
        "type": "object",
        "properties": {
            "lamp": {"type": "string", "description": "Which one."},
            "units": {"type": ["string", "null"], "enum": ["si", None]},
        },
        "required": ["lamp"],
        "additionalProperties": False,
    }
    assert get.places == {"units": "query"}
    put = found["setLamp"]
    assert put.parameters["required"] == ["lamp", "on"]
    assert put.parameters["properties"]["on"] == {"type": "boolean"}
    assert put.parameters["properties"]["level"] == {
        "type": "integer",
        "exclusiveMinimum": 0,
        "maximum": 100,
    }
    assert put.options.idempotent
    assert not put.options.confirm
    assert found["removeLamp"].options.confirm, "what is deleted is asked for"


def test_a_recursive_schema_ends() -> None:
    found, _ = tools("plant")
    children = found["plant"].parameters["properties"]["children"]
    assert children == {"type": "array", "items": {}}
    assert "required" in found["plant"].parameters
    assert not found["plant"].options.idempotent


def test_an_operation_that_cannot_be_a_tool_is_a_fault_of_its_own() -> None:
    found, faults = tools("getLamp", "needsHeader", "upload", "outside", "nothing")
    assert list(found) == ["getLamp"]
    assert faults == {
        "needsHeader": "it requires the header X-Needed: set it in headers",
        "upload": "its body is not JSON but image/png",
        "outside": "it refers outside of the document: other.yaml#/x",
        "nothing": "the document has no operation with this id",
    }
    given, _ = tools("needsHeader", headers={"x-needed": "1"})
    assert list(given) == ["needsHeader"]


def test_the_settings_override_the_document() -> None:
    wanted = OperationConfig("lamp_state", "Is it on?", "on", {"units": "si"}, confirm=True)
    found, _ = to_configs(
        DOCUMENT, OpenApiConfig("l", "l.yaml", {"getLamp": wanted}, "http://10.0.0.2/v2/")
    )
    (tool,) = found
    assert (tool.name, tool.description, tool.result) == ("lamp_state", "Is it on?", "on")
    assert tool.url == "http://10.0.0.2/v2/lamps/{lamp}"
    assert set(tool.parameters["properties"]) == {"lamp"}
    assert tool.constants == {"units": "si"}
    assert tool.options.confirm


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "neither JSON nor YAML"),
        (b"a: [", "neither JSON nor YAML"),
        (b"swagger: '2.0'", "expected an OpenAPI 3.0 or 3.1 document, found version None"),
        (b"[]", "expected an OpenAPI"),
        (b" " * (4 * 1024 * 1024 + 1), "more than"),
    ],
)
def test_an_invalid_document(data: bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_document(data)


async def test_a_document_is_loaded_once_its_server_is_up() -> None:
    async with running() as service:
        service.on("/openapi.json", saying("", status=503))
        source = OpenApiSource(_lamps(service), backoff=Backoff(first=0.01, longest=1.0))
        runtime = ToolRuntime([source], counters=Counters())
        await runtime.start()
        try:
            await source.ready()
            assert source.tools() == ()
            assert source.faults[0].place == "tools.openapi.document"
            service.on(
                "/openapi.json", saying(json.dumps({**DOCUMENT, "servers": [{"url": "/v1"}]}))
            )
            await until(source.tools, what="the tools", seconds=60)
            assert source.faults == []
            result = await call(runtime, {"lamp": "hall", "on": True, "level": 7}, "setLamp")
            assert json.loads(result.result or "") == {
                "path": "/v1/lamps/hall",
                "query": [],
                "body": {"on": True, "level": 7},
            }
        finally:
            await runtime.close()


async def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    source = OpenApiSource(
        OpenApiConfig("lamps", str(tmp_path / "no.yaml"), {"x": OperationConfig()})
    )
    await source.start()
    await source.ready()
    assert source.faults[0].reason == (
        f"the document {tmp_path / 'no.yaml'} (in the folder {Path.cwd()}) cannot be read: "
        "No such file or directory"
    )
    await source.close()


def _lamps(service: Service) -> OpenApiConfig:
    return OpenApiConfig(
        "lamps",
        f"{service.url}/openapi.json",
        {"setLamp": OperationConfig()},
        allow_private=True,
    )
