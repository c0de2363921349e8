"""The two-level description: the document's own examples, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vixio.core.tools.types import ToolOptions
from vixio.tools.bounds import MAX_TOOLS
from vixio.tools.broker.catalogue import Catalogue
from vixio.tools.broker.descriptors import (
    DescriptorError,
    ServiceDescriptor,
    ToolDescriptor,
    read_service,
    read_tool,
)
from vixio.tools.broker.files import read_folder

DEFAULTS = ToolOptions(timeout=30)

CUSTOM_RAG = {
    "id": "custom-rag",
    "request-queue": "non-persistent://tg/request/custom-rag",
    "response-queue": "non-persistent://tg/response/custom-rag",
    "config-params": [{"name": "collection", "required": True}],
}
QUERY_CUSTOMERS = {
    "type": "tool-service",
    "name": "query-customers",
    "description": "Query the customer knowledge base",
    "service": "custom-rag",
    "collection": "customers",
    "arguments": [
        {
            "name": "question",
            "type": "string",
            "description": "The question to ask about customers",
        }
    ],
}


def read(**changes: object) -> ToolDescriptor:
    """Read the document's tool with some keys changed; None removes one."""
    value = {key: word for key, word in {**QUERY_CUSTOMERS, **changes}.items() if word is not None}
    return read_tool(value, read_service(CUSTOM_RAG), DEFAULTS, 1)


def test_the_documents_examples() -> None:
    assert read_service(CUSTOM_RAG) == ServiceDescriptor(
        "custom-rag",
        "non-persistent://tg/request/custom-rag",
        "non-persistent://tg/response/custom-rag",
        {"collection": True},
    )
    tool = read()
    assert (tool.service, tool.config, tool.stream) == (
        "custom-rag",
        {"collection": "customers"},
        "result",
    )
    assert tool.definition.name == "query-customers"
    assert tool.definition.parameters == {
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "The question to ask about customers"}
        },
        "required": ["question"],
        "additionalProperties": False,
    }
    assert tool.definition.options == DEFAULTS


@pytest.mark.parametrize("queue", ["request:tg:calc", "tg.request.calc"])
def test_other_spellings_of_a_queue(queue: str) -> None:
    assert read_service({"id": "calculator", "request-queue": queue}).request_queue == queue


def test_what_a_tool_may_say_beside() -> None:
    tool = read(timeout=5, idempotent=True, confirm=True, stream="say")
    assert tool.definition.options == ToolOptions(
        timeout=5.0, idempotent=True, confirm=True, retries=1
    )
    assert tool.stream == "say"
    tool = read(
        read_only=True, arguments=None, parameters={"properties": {"n": {"type": "number"}}}
    )
    assert tool.definition.options.read_only
    assert tool.definition.parameters == {"properties": {"n": {"type": "number"}}}


def test_arguments_may_be_optional_and_have_more_words() -> None:
    tool = read(
        arguments=[
            {"name": "days", "type": "int", "minimum": 1, "default": 1, "description": "How many."},
            {"name": "city", "required": False},
        ]
    )
    assert tool.definition.parameters == {
        "type": "object",
        "properties": {
            "days": {"type": "integer", "minimum": 1, "default": 1, "description": "How many."},
            "city": {"type": "string"},
        },
        "additionalProperties": False,
    }


def test_a_parameter_of_the_service_wins_over_a_key_of_ours() -> None:
    service = read_service({**CUSTOM_RAG, "config-params": [{"name": "timeout"}]})
    value = {**QUERY_CUSTOMERS, "timeout": "long"}
    del value["collection"]
    tool = read_tool(value, service, DEFAULTS, 1)
    assert tool.config == {"timeout": "long"}
    assert tool.definition.options.timeout == 30


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"collection": None}, "collection: is required by the service custom-rag"),
        (
            {"colection": "x"},
            "colection: the service custom-rag has no such parameter; did you mean collection?",
        ),
        ({"name": None}, "name: is required"),
        ({"name": 5}, "name: is required"),
        ({"description": " "}, "description: is required"),
        ({"type": "mcp-tool"}, "type: expected tool-service, found 'mcp-tool'"),
        ({"arguments": "x"}, "arguments: expected a list"),
        ({"arguments": ["x"]}, "arguments[0]: expected a mapping with name, type and description"),
        (
            {"arguments": [{"type": "string"}]},
            "arguments[0].name: expected a name that no other argument has",
        ),
        (
            {"arguments": [{"name": "a", "type": "text"}]},
            (
                "arguments[0].type: expected one of array, boolean, integer, number, object, "
                "string, found 'text'"
            ),
        ),
        (
            {"arguments": [{"name": "a", "type": ["string"]}]},
            (
                "arguments[0].type: expected one of array, boolean, integer, number, object, "
                "string, found ['string']"
            ),
        ),
        ({"parameters": [1]}, "parameters: expected the JSON Schema of an object"),
        ({"parameters": {"x": "y" * 30_000}}, "parameters: more than 20000 characters as JSON"),
        ({"timeout": -1}, "timeout: expected seconds up to 3600, found -1"),
        ({"timeout": True}, "timeout: expected seconds up to 3600, found True"),
        ({"confirm": "yes"}, "confirm: expected true or false, found 'yes'"),
        ({"stream": "loud"}, "stream: expected result or say, found 'loud'"),
    ],
)
def test_a_mistake_in_a_tool_is_one_line(changes: dict[str, object], line: str) -> None:
    with pytest.raises(DescriptorError) as caught:
        read(**changes)
    assert str(caught.value) == line


def test_a_schema_that_is_none_is_a_mistake() -> None:
    with pytest.raises(DescriptorError, match="are not a JSON Schema"):
        read(parameters={"type": "object", "properties": {"a": {"type": 5}}})


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"id": None}, "id: is required"),
        ({"request-queue": None}, "request-queue: is required"),
        ({"request-queue": "tg.*"}, "request-queue: 'tg.*' is not the name of a queue; "),
        ({"request_queue": "x"}, "request_queue: there is no such key; did you mean request-queue"),
        ({"config-params": {"a": 1}}, "config-params: expected a list"),
        ({"config-params": [{"required": True}]}, "config-params[0].name: is required"),
        ({"config-params": [{"name": "name"}]}, "config-params[0].name: name is a key of every"),
        ({"consumer-queue": 5}, "consumer-queue: is required"),
        ({"consumer-queue": "x" * 300}, "consumer-queue: has more than"),
        ({"idle-timeout": 0}, "idle-timeout: expected seconds up to 3600, found 0"),
    ],
)
def test_a_mistake_in_a_service_is_one_line(changes: dict[str, object], line: str) -> None:
    value: dict[str, Any] = {**CUSTOM_RAG, **changes}
    with pytest.raises(DescriptorError) as caught:
        read_service({key: word for key, word in value.items() if word is not None})
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_a_mistake_costs_only_its_own_tool() -> None:
    catalogue = Catalogue("tools.broker", DEFAULTS, 1)
    tools: list[dict[str, Any]] = [
        {**QUERY_CUSTOMERS, "service": "custom-rat"},
        {**QUERY_CUSTOMERS, "name": "query-products", "collection": "products"},
        {**QUERY_CUSTOMERS, "name": "query-nothing", "collection": None},
        QUERY_CUSTOMERS,
        {**QUERY_CUSTOMERS, "description": "The same name again."},
    ]
    catalogue.configure([CUSTOM_RAG, {"id": "broken"}], tools)
    listed = [(tool.definition.name, tool.config) for tool, _ in catalogue.tools({})]
    assert listed == [
        ("query-products", {"collection": "products"}),
        ("query-customers", {"collection": "customers"}),
    ]
    assert [(fault.place, fault.reason) for fault in catalogue.faults] == [
        ("tools.broker.services[1]", "service broken: request-queue: is required"),
        (
            "tools.broker.tools[0]",
            "tool query-customers: service: custom-rat is not described; known are custom-rag",
        ),
        (
            "tools.broker.tools[2]",
            "tool query-nothing: collection: is required by the service custom-rag",
        ),
        (
            "tools.broker.tools[4]",
            "tool query-customers: name: two tools are named query-customers",
        ),
    ]


def test_a_source_has_a_bounded_number_of_tools() -> None:
    catalogue = Catalogue("tools.broker", DEFAULTS, 1)
    tools = [{**QUERY_CUSTOMERS, "name": f"tool-{number}"} for number in range(MAX_TOOLS + 2)]
    catalogue.configure([CUSTOM_RAG], tools)
    assert len(catalogue.tools({})) == MAX_TOOLS
    assert len(catalogue.faults) == 2


def test_descriptions_in_files(tmp_path: Path) -> None:
    """As the document stores them, one a file, and several in one."""
    (tmp_path / "custom-rag.json").write_text(json.dumps(CUSTOM_RAG), encoding="utf-8")
    (tmp_path / "query.yaml").write_text(json.dumps([QUERY_CUSTOMERS]), encoding="utf-8")
    more = {"services": [{**CUSTOM_RAG, "id": "calculator"}], "tools": None}
    (tmp_path / "more.yml").write_text(json.dumps(more), encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "word.yaml").write_text("joke", encoding="utf-8")
    (tmp_path / "_left_out.json").write_text("{", encoding="utf-8")
    (tmp_path / "README.md").write_text("{", encoding="utf-8")
    found = read_folder(tmp_path)
    assert [each.value["id"] for each in found.services] == ["custom-rag", "calculator"]
    assert [(each.place, each.value["name"]) for each in found.tools] == [
        ("query.yaml[0]", "query-customers")
    ]
    assert [fault.place for fault in found.faults] == ["broken.json", "word.yaml"]
    assert found.faults[1].reason == "cannot be read: expected a mapping, or a list of mappings"


def test_a_missing_folder_is_a_fault(tmp_path: Path) -> None:
    (fault,) = read_folder(tmp_path / "none").faults
    assert fault.reason == "there is no such folder; correct tools.broker.folder"
