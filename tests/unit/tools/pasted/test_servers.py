"""Pastes of desktop programs as they are met in the wild, and the mistakes of hand-edited ones."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import pytest

from vixio.tools.pasted.servers import MAX_SOURCES, name_of_url, read_servers
from vixio.tools.pasted.text import MAX_CHARS, JsonText, PasteError

FILES = '{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"]}'
FILES_OPTIONS = json.loads(FILES)

READ: dict[str, tuple[str, dict[str, tuple[str, dict[str, Any]]]]] = {
    "claude desktop": (
        f'{{"mcpServers": {{"files": {FILES}}}}}',
        {"files": ("mcp", FILES_OPTIONS)},
    ),
    "comments and trailing commas": (
        '{ // file\n "mcpServers": { /* all */ "a": {"command": "x", "args": ["b",],},\n# c\n},}',
        {"a": ("mcp", {"command": "x", "args": ["b"]})},
    ),
    "members without braces": (
        '"a": {"command": "x"},\n"b": {"url": "http://h/sse"},',
        {"a": ("mcp", {"command": "x"}), "b": ("mcp", {"url": "http://h/sse"})},
    ),
    "whole file without braces": (
        '"mcpServers": {"a": {"command": "x"}}',
        {"a": ("mcp", {"command": "x"})},
    ),
    "map of servers": ('{"a": {"command": "x"}}', {"a": ("mcp", {"command": "x"})}),
    "bare program": (FILES, {"filesystem": ("mcp", FILES_OPTIONS)}),
    "bare program of uvx": (
        '{"command": "uvx", "args": ["mcp-server-time"]}',
        {"time": ("mcp", {"command": "uvx", "args": ["mcp-server-time"]})},
    ),
    "bare address": (
        '{"url": "https://mcp.deepwiki.com/mcp"}',
        {"deepwiki": ("mcp", {"url": "https://mcp.deepwiki.com/mcp"})},
    ),
    "list with names": (
        '[{"name": "a", "command": "x"}]',
        {"a": ("mcp", {"command": "x"})},
    ),
    "vs code": (
        '{"inputs": [], "servers": {"gh": {"type": "http", "url": "https://h/mcp/", "id": 1}}}',
        {"gh": ("mcp", {"transport": "http", "url": "https://h/mcp/"})},
    ),
    "vs code, settings": (
        '{"mcp": {"servers": {"a": {"type": "stdio", "command": "x"}}}}',
        {"a": ("mcp", {"transport": "stdio", "command": "x"})},
    ),
    "zed": (
        '{"context_servers": {"a": {"source": "custom", "command": {"path": "x", "args": ["y"]}}}}',
        {"a": ("mcp", {"command": "x", "args": ["y"], "env": {}})},
    ),
    "opencode": (
        '{"mcp": {"a": {"type": "local", "command": ["x", "y"], "environment": {"K": "v"}}}}',
        {"a": ("mcp", {"transport": "stdio", "command": "x", "args": ["y"], "env": {"K": "v"}})},
    ),
    "opencode, remote": (
        '{"mcp": {"a": {"type": "remote", "url": "http://h/x"}}}',
        {"a": ("mcp", {"url": "http://h/x"})},
    ),
    "windsurf": (
        '{"mcpServers": {"a": {"serverUrl": "http://h/sse"}}}',
        {"a": ("mcp", {"url": "http://h/sse"})},
    ),
    "gemini": (
        '{"mcpServers": {"a": {"httpUrl": "http://h/x", "timeout": 5000, "trust": true}}}',
        {"a": ("mcp", {"url": "http://h/x", "transport": "streamable_http", "timeout": 5.0})},
    ),
    "cline": (
        '{"a": {"command": "x", "alwaysAllow": ["t"], "disabled": false, "timeout": 60}}',
        {"a": ("mcp", {"command": "x", "timeout": 60})},
    ),
    "switched off": (
        '{"mcpServers": {"a": {"command": "x", "disabled": true}, "b": {"command": "y"}}}',
        {"b": ("mcp", {"command": "y"})},
    ),
    "one line": (
        '{"command": "npx -y @scope/ab"}',
        {"ab": ("mcp", {"command": "npx", "args": ["-y", "@scope/ab"]})},
    ),
    "windows": (
        '{"a": {"command": "cmd", "args": ["/c", "npx", "-y", "p"]}}',
        {"a": ("mcp", {"command": "npx", "args": ["-y", "p"]})},
    ),
    "numbers and switches as texts": (
        '{"a": {"command": "x", "args": ["--port", 80], "env": {"N": 5, "B": true, "Z": null}}}',
        {"a": ("mcp", {"command": "x", "args": ["--port", "80"], "env": {"N": "5", "B": "true"}})},
    ),
    "variables of others": (
        '{"a": {"url": "http://h/mcp", "headers": {"A": "Bearer ${env:TOK}", "B": "${C:-d}"}}}',
        {"a": ("mcp", {"url": "http://h/mcp", "headers": {"A": "Bearer ${TOK}", "B": "${C:d}"}})},
    ),
    "request init": (
        '{"a": {"url": "http://h/mcp", "requestInit": {"headers": {"X": "y"}}}}',
        {"a": ("mcp", {"url": "http://h/mcp", "headers": {"X": "y"}})},
    ),
    "names that sources cannot have": (
        '{"天气": {"command": "x"}, "my server": {"command": "y"}, "local": {"command": "z"}}',
        {
            "tools": ("mcp", {"command": "x"}),
            "my-server": ("mcp", {"command": "y"}),
            "local-2": ("mcp", {"command": "z"}),
        },
    ),
    "agent card": (
        '{"name": "Baker", "url": "https://h/a2a", "skills": [], "version": "1"}',
        {"Baker": ("a2a", {"url": "https://h/a2a"})},
    ),
    "openapi": (
        '{"lamps": {"type": "openapi", "document": "http://h/o.json", "operations": ["getLamp"]}}',
        {"lamps": ("openapi", {"document": "http://h/o.json", "operations": ["getLamp"]})},
    ),
    "mark of order, carriage returns": (
        '\ufeff{\r\n"mcpServers": {"a": {"command": "x"}}\r\n}',
        {"a": ("mcp", {"command": "x"})},
    ),
}

MISTAKES: dict[str, tuple[str, str]] = {
    "": ("1:1", "there is nothing in it"),
    "hello there": ("1:1", "expected JSON in braces, or the address"),
    '{"mcpServers": {"a": {"command": "x" "args": []}}}': ("1:37", "a comma is missing here"),
    '{"mcpServers": {\n  "a": {"command": "x",, "args": []}}}': ("2:24", "one comma is too much"),
    '{"mcpServers": {"a": {"command" "x"}}}': ("1:33", 'a colon is missing behind "command"'),
    '{"mcpServers": {"a": {"command": “x”}}}': ("1:34", "typographic quotation mark"),
    "{“mcpServers”: {}}": ("1:2", "typographic quotation mark"),
    "{'mcpServers': {}}": ("1:2", "double quotes, not in single ones"),
    "{mcpServers: {}}": ("1:2", 'put mcpServers in double quotes: "mcpServers"'),
    '{"a": {"command": "C:\\Program"}}': ("1:22", "is written twice"),
    '{"a": {"command": "x\n"}}': ("1:19", "this text is not closed in its line"),
    '{"mcpServers": {\n"a": {"command": "x"}\n': ("3:1", "the { of line 1 is not closed: add }"),
    '{"a": {"command": "x"}}}': ("1:24", "nothing may follow here"),
    '{"a": {"command": "x", "args": ["b"}}': ("1:36", "] is expected here, not }"),
    '{"a": {"command": "x", "disabled": False}}': ("1:36", "write false instead of False"),
    '{"a": {"command": "x", "env": {"K": None}}}': ("1:37", "write null instead of None"),
    '{"a": {"command": x}}': ("1:19", 'put x in double quotes: "x"'),
    '{"a": {"command": }}': ("1:19", "a value is expected here, not }"),
    '{"a": {"command": "x", "command": "y"}}': ("1:24", "stands here twice"),
    '{"mcpServers": []}': ("1:16", "is empty"),
    '{"mcpServers": {}}': ("1:16", "is empty"),
    '{"mcpServer": {"a": {"command": "x"}}}': ("1:2", "is written mcpServers"),
    '{"openapi": "3.1.0", "paths": {}}': ("1:1", "give its address instead"),
    '{"hello": 1}': ("1:1", "no server is found"),
    '{"mcpServers": {"a": "npx"}}': ("1:22", "expected braces here"),
    '{"mcpServers": {"a": {"args": []}}}': ("1:22", 'expected "command"'),
    '{"mcpServers": {"a": {"command": "x", "arg": []}}}': ("1:39", 'did you mean "args"?'),
    '{"mcpServers": {"a": {"cmd": "x", "comand": "x"}}}': ("1:35", 'did you mean "command"?'),
    '{"a": {"command": "x", "args": "b c"}}': ("1:32", '"args" is a list: ["b c"]'),
    '{"a": {"command": "x", "env": ["K=v"]}}': ("1:31", 'expected {"NAME": "value"}'),
    '{"a": {"command": "x", "url": "http://h"}}': ("1:7", "not both"),
    '{"a": {"url": "ws://h/mcp", "type": "ws"}}': ("1:37", "connects to the access point"),
    '{"a": {"url": "example.org/mcp"}}': ("1:7", "with http:// or https://"),
    '{"a": {"url": "http://h/mcp", "type": "pigeon"}}': ("1:39", "expected one of"),
    '{"a": {"command": "x", "env": {"K": "${input:key}"}}}': ("1:37", "filled in by an editor"),
    '{"a": {"command": "x", "env": {"K": "YOUR_API_KEY"}}}': ("1:37", "is a placeholder"),
    '{"a": {"command": "x", "args": ["<your path>"]}}': ("1:33", "is a placeholder"),
    '{"a": {"command": "x", "args": ["/path/to/folder"]}}': ("1:33", "is a placeholder"),
    '{"a": {"url": "http://h/mcp", "headers": {"A": "Bearer <token>"}}}': ("1:48", "placeholder"),
    '{"a": {"command": "x", "timeout": "soon"}}': ("1:35", "timeout"),
    '{"a": {"type": "openapi", "document": "http://h/o.json"}}': ("1:7", "operations: is missing"),
    '{"a": {"command": "x", "disabled": true}}': ("", "switched off"),
    "[" * 40: ("1:17", "nested more than 16 levels"),
    " " * (MAX_CHARS + 1): ("", "more than 64 KB"),
    json.dumps({f"s{n}": {"command": "x"} for n in range(MAX_SOURCES + 1)}): (
        "",
        "fewer at a time",
    ),
}


@pytest.mark.parametrize("case", READ)
def test_what_programs_take_is_understood(case: str) -> None:
    text, expected = READ[case]
    found = {each.name: (each.type, dict(each.options)) for each in read_servers(text)}
    assert found == expected


@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_shown_at_its_place_with_what_to_do(text: str) -> None:
    place, words = MISTAKES[text]
    with pytest.raises(PasteError) as refused:
        read_servers(text)
    first = refused.value.mistakes[0]
    assert words in first.message
    assert (f"{first.line}:{first.column}" if first.line else "") == place


def test_all_mistakes_are_found_at_once() -> None:
    text = '{"mcpServers": {"a": {"args": []},\n "b": {"url": "x"},\n "c": {"comand": "x"}}}'
    with pytest.raises(PasteError) as refused:
        read_servers(text)
    assert [each.line for each in refused.value.mistakes] == [1, 2, 3]


def test_a_server_and_its_variables_have_their_places() -> None:
    (one,) = read_servers('{"mcpServers": {\n  "a": {"command": "x",\n "env": {"K": "${TOK}"}}}}')
    assert one.line == 2
    assert one.is_program
    ((name, place),) = one.variables
    assert (name, place.line, place.column) == ("TOK", 3, 15)


def test_no_mistake_repeats_a_value() -> None:
    """It may be a key, and the message goes to a log or over the network."""
    secret = "sk-3f9a8b7c6d5e4f3a2b1c"
    broken = json.dumps({"a": {"command": "x", "env": {"K": secret}, "timeout": secret}})
    for text in (broken, broken.replace('"K"', "K"), broken.replace("}}", "")):
        with pytest.raises(PasteError) as refused:
            read_servers(text)
        assert secret not in str(refused.value)


def test_plain_json_is_read_as_json_is() -> None:
    value = {"a": [1, -2.5, 1e3, True, None, 'q"\\/\b\u00e9\n'], "b": {"c": {}}, "d": []}
    for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
        assert JsonText(text).read().plain() == value


def test_whatever_is_pasted_only_a_mistake_comes_of_it() -> None:
    dice = random.Random(7)
    values: list[Any] = [None, 1, "x", [], {}, ["a"], {"a": 1}, True, [[]], {"command": {}}]
    keys = ["command", "args", "env", "url", "headers", "type", "disabled", "name", "skills", "mcp"]
    for _ in range(2_000):
        server = {dice.choice(keys): dice.choice(values) for _ in range(4)}
        text = json.dumps({"mcpServers": {"a": server}} if dice.random() < 0.7 else server)
        cut = dice.randrange(len(text))
        for each in (text, text[:cut], text[:cut] + dice.choice('{}[],:"\\x') + text[cut:]):
            with suppress(PasteError):
                read_servers(each)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://mcp.deepwiki.com/mcp", "deepwiki"),
        ("http://192.168.1.5:8123/mcp", "192-168-1-5"),
        ("http://hub.local:8080/openapi.json", "hub"),
        ("http://localhost/mcp", "localhost"),
    ],
)
def test_a_server_without_a_name_is_called_after_its_host(url: str, name: str) -> None:
    assert name_of_url(url) == name
