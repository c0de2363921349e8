"""Reads servers of MCP, and other sources, out of the JSON that desktop programs take.

Claude Desktop, Cursor and others have ``mcpServers``, VS Code has ``servers`` (also below ``mcp``),
Zed ``context_servers``; a map of servers, members without braces and a single server are read too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from vixio.tools.a2a.settings import A2aSettings
from vixio.tools.mcp.settings import TAKEN, McpServerSettings
from vixio.tools.pasted.text import MAX_CHARS, JsonText, Mistake, Node, PasteError
from vixio.tools.rest.settings import OpenApiSettings

MAX_SOURCES: Final = 16

_MAPS: Final = ("mcpServers", "mcp_servers", "servers", "context_servers")

_KINDS: Final[Mapping[str, type[BaseModel]]] = {"openapi": OpenApiSettings, "a2a": A2aSettings}

_SAME: Final = {
    "serverUrl": "url", "httpUrl": "url", "uri": "url", "environment": "env",
    "type": "transport", "transportType": "transport", "includeTools": "allow",
    "allowedTools": "allow", "excludeTools": "deny", "disabledTools": "deny",
}  # fmt: skip
"""What other programs call an option."""

_TRANSPORTS: Final = {"local": "stdio", "remote": None, "streamable": "streamable_http"}

_NOT_OURS: Final = frozenset(
    {
        "alwaysAllow", "autoApprove", "auth", "autoStart", "description", "dev", "displayName",
        "enabled", "envFile", "gallery", "icon", "id", "metadata", "name", "note", "oauth",
        "provider", "settings", "source", "tags", "title", "tools", "trust", "version", "disabled",
        "capabilities", "longRunning", "initTimeout", "startupTimeout", "startup_timeout_sec",
        "tool_timeout_sec", "restart",
    }
)  # fmt: skip
"""Keys of desktop programs that mean nothing for a server without a desktop, or are read apart."""

_ELSEWHERE: Final = re.compile(r"\$\{(?:env:|env\.)(\w+)\}")
_OR_ELSE: Final = re.compile(r"\$\{(\w+):-([^{}]*)\}")
_ASKED: Final = re.compile(
    r"\$\{(?:input|config|command|workspace|user|file)[A-Za-z]*(?::[^}]*)?\}"
)
_VARIABLE: Final = re.compile(r"(?<!\$)\$\{([A-Za-z_]\w*)\}")
_PLACEHOLDER: Final = re.compile(
    r"(?:bearer\s+)?(?:<[^<>/]+>|\[[^\]]*(?:key|token|secret|path)[^\]]*\]|x{4,}|\.{3}|…"
    r"|/?path/to/.*|/Users/(?:username|you|yourname)/.*"
    r"|(?:\w+[-_ ])?your[-_ ][\w -]*(?:key|token|secret|password|id|here|name|value))",
    re.IGNORECASE,
)
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_RUNNERS: Final = frozenset(
    {"npx", "uvx", "uv", "bunx", "pipx", "docker", "podman", "node", "deno"}
)


@dataclass(frozen=True, slots=True)
class Pasted:
    """A source, its options as a settings file has them: variables are not expanded.

    ``line``, ``column``: where it stands; 0: it is an address. ``variables``: names and places.
    """

    name: str
    type: str
    options: dict[str, Any] = field(repr=False)
    line: int = 0
    column: int = 0
    variables: tuple[tuple[str, Mistake], ...] = ()

    @property
    def is_program(self) -> bool:
        """Whether it starts a program on the server's machine."""
        return bool(self.options.get("command"))


def read_servers(text: str, taken: frozenset[str] = frozenset()) -> tuple[Pasted, ...]:
    """Return the sources of a pasted text. ``taken``: names that they do not get.

    Raises PasteError with all mistakes that could be found.
    """
    if len(text) > MAX_CHARS:
        raise PasteError(Mistake(f"it has more than {MAX_CHARS // 1024} KB: paste fewer servers"))
    source = JsonText(text)
    reader = _Reader(source, {*TAKEN, *taken})
    found = [
        each for name, node in reader.servers(source.read()) if (each := reader.one(name, node))
    ]
    if reader.mistakes:
        raise PasteError(*sorted(reader.mistakes, key=lambda each: (each.line, each.column)))
    if not found:
        raise PasteError(Mistake("every server in it is switched off (disabled): there is nothing"))
    if len(found) > MAX_SOURCES:
        raise PasteError(Mistake(f"it has more than {MAX_SOURCES} servers: paste fewer at a time"))
    return tuple(found)


class _Reader:
    def __init__(self, text: JsonText, taken: set[str]) -> None:
        self._text = text
        self._taken = taken
        self.mistakes: list[Mistake] = []

    def servers(self, root: Node) -> Iterator[tuple[str, Node]]:
        """Return the servers in a text: the name that each is given, and what it is."""
        value = root.value
        if isinstance(value, list):
            yield from self._map("", root)
        elif not isinstance(value, dict):
            self._note(root.at, 'expected {"mcpServers": {"name": {"command": …}}} or an address')
        elif "mcp" in value and isinstance(value["mcp"].value, dict):  # VS Code
            yield from self.servers(value["mcp"])
        elif named := next((key for key in _MAPS if key in value), ""):
            yield from self._map(named, value[named])
        elif _is_server(root):
            yield _own_name(root), root
        elif value and all(isinstance(node.value, dict) for node in value.values()):
            if near := [
                key
                for key, node in value.items()
                if get_close_matches(key, _MAPS, 1, 0.7) and not _is_server(node)
            ]:
                self._note((root.keys or {})[near[0]], f'"{near[0]}" is written mcpServers')
                return
            yield from self._map("", root)
        else:
            self._note(root.at, _nothing(set(value)))

    def _map(self, key: str, node: Node) -> Iterator[tuple[str, Node]]:
        if isinstance(node.value, list) and node.value:
            for each in node.value:
                yield _own_name(each), each
            return
        if not isinstance(node.value, dict) or not node.value:
            self._note(node.at, f'"{key}" is empty: expected {{"name": {{"command": …}}}}')
            return
        yield from node.value.items()

    def one(self, name: str, node: Node) -> Pasted | None:
        """Return a server; None: it has mistakes, or is switched off."""
        if not isinstance(node.value, dict):
            self._note(node.at, f'"{name}": expected braces here: {{"command": …}} or {{"url": …}}')
            return None
        before = len(self.mistakes)
        kind = _plain(node, "type")
        kind = kind if isinstance(kind, str) and kind in _KINDS else "a2a" if _is_card(node) else ""
        if _plain(node, "disabled") is True or _plain(node, "enabled") is False:
            return None
        options = self._other(node, kind) if kind else self._mcp(node)
        if len(self.mistakes) == before:
            self._check(node, kind, options)
        if len(self.mistakes) > before:
            return None
        place = self._text.mistake(node.at, "")
        variables = tuple(
            (match[1], self._text.mistake(text.at, f"the variable {match[1]} is not set"))
            for text in node.texts()
            for match in _VARIABLE.finditer(_here(text.value))
        )
        return Pasted(
            self._free(name or "tools"), kind or "mcp", options, place.line, place.column, variables
        )

    def _mcp(self, node: Node) -> dict[str, Any]:
        known = set(McpServerSettings.model_fields)
        options: dict[str, Any] = {}
        before = len(self.mistakes)
        for key, each in node.value.items():
            own = _SAME.get(key, key)
            at = (node.keys or {}).get(key, each.at)
            if key == "requestInit" and isinstance(each.value, dict):
                options["headers"] = _plain(each, "headers") or {}
            elif key in _NOT_OURS:
                continue
            elif own in known:
                options[own] = self._option(own, each)
                if key == "httpUrl":
                    options["transport"] = "streamable_http"
            elif near := get_close_matches(key, [*known, *_SAME], 1, 0.7):
                self._note(at, f'there is no "{key}": did you mean "{near[0]}"?')
        if options.get("transport") is None:
            options.pop("transport", None)
        self._command(node, options)
        if not (options.get("command") or options.get("url") or len(self.mistakes) > before):
            self._note(node.at, 'expected "command" (a program to start) or "url" (a server)')
        return options

    def _option(self, key: str, node: Node) -> Any:  # noqa: ANN401 - JSON
        value = node.plain()
        if key == "transport" and isinstance(value, str):
            if value.lower() in ("ws", "wss", "websocket"):
                self._note(node.at, "a server over WebSocket connects to the access point instead")
            return _TRANSPORTS.get(value, value)
        if key in ("env", "headers") and isinstance(value, dict):
            return {
                name: str(each).lower() if isinstance(each, bool)
                else str(each) if isinstance(each, int | float) else each
                for name, each in value.items() if each is not None
            }  # fmt: skip
        if key == "args" and isinstance(value, list):
            return [str(each) if isinstance(each, int | float) else each for each in value]
        if key == "args" and isinstance(value, str):
            self._note(node.at, f'"args" is a list: ["{value[:40]}"], one entry a word')
            return []
        if (
            key in ("timeout", "connect_timeout")
            and isinstance(value, int | float)
            and value >= 1e3
        ):
            return value / 1000  # some programs have milliseconds
        return value

    def _command(self, node: Node, options: dict[str, Any]) -> None:
        """Take a command apart that other programs have as a list, an object, or with arguments."""
        command: Any = options.get("command")
        args = options.get("args", [])
        if not isinstance(args, list):
            return  # which the settings refuse
        if isinstance(command, dict):  # Zed
            options.setdefault("env", command.get("env") or {})
            command, args = command.get("path"), command.get("args") or []
        elif isinstance(command, list):  # opencode
            command, args = (command or [""])[0], [*command[1:], *args]
        elif isinstance(command, str) and " " in command.strip() and not args:
            try:
                command, *args = shlex.split(command)
            except ValueError:
                self._note(node.value["command"].at, "a quote in the command is not closed")
        if isinstance(command, str) and PureWindowsPath(command).stem.lower() == "cmd" and args:
            # Programs on Windows start scripts so; nothing else understands it.
            command, *args = args[1:] if str(args[0]).lower() == "/c" and args[1:] else args
        if command is not None:
            options["command"] = command
            if args:
                options["args"] = args

    def _other(self, node: Node, kind: str) -> dict[str, Any]:
        options: dict[str, Any] = node.plain()
        if kind == "a2a" and _is_card(node):
            return {"url": options["url"]}
        return {key: each for key, each in options.items() if key not in ("type", "name")}

    def _check(self, node: Node, kind: str, options: dict[str, Any]) -> None:
        """Note what the settings of the type refuse, and what is not meant for a server."""
        for text in node.texts():
            if asked := _ASKED.search(text.value):
                self._note(
                    text.at,
                    f"{asked.group()} is filled in by an editor: write the value, or ${{NAME}} of "
                    "an environment variable",
                )
            elif _PLACEHOLDER.fullmatch(text.value.strip()):
                self._note(text.at, f"{text.value.strip()[:60]} is a placeholder: write your own")
        options.update({key: _translated(each) for key, each in options.items()})
        try:
            _KINDS.get(kind, McpServerSettings).model_validate(options)
        except ValidationError as error:
            for each in error.errors():
                self._note(self._place(node, each["loc"]), _words(each))

    def _place(self, node: Node, loc: tuple[int | str, ...]) -> int:
        """Return the offset of an option, or of what is nearest to it."""
        at = node.at
        for part in loc:
            inner = node.value
            if isinstance(inner, dict):
                names = [key for key in inner if part in (key, _SAME.get(key))]
                if not names:
                    return at
                at = (node.keys or {}).get(names[0], at)
                node = inner[names[0]]
            elif isinstance(inner, list) and isinstance(part, int) and part < len(inner):
                node = inner[part]
                at = node.at
            else:
                return at
        return node.at

    def _note(self, at: int, message: str) -> None:
        self.mistakes.append(self._text.mistake(at, message))

    def _free(self, wanted: str) -> str:
        name = source_name(wanted, self._taken)
        self._taken.add(name)
        return name


def source_name(wanted: str, taken: frozenset[str] | set[str] = TAKEN) -> str:
    """Return a name for a source, as near to the wanted one as names may be, and not taken."""
    base = _UNSAFE.sub("-", wanted).strip("-._")[:56] or "tools"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name


def name_of_url(url: str) -> str:
    """Return a name for the server at an address: of its host, without what all have."""
    labels = (urlsplit(url).hostname or "").split(".")
    if all(each.isdigit() for each in labels):
        return "-".join(labels)
    kept = [each for each in labels[:-1] if each not in ("www", "mcp", "api", "server")]
    return "-".join(kept[:2]) or labels[0]


def _own_name(node: Node) -> str:
    """Return a name for a server that has none in front: its own, or that of its program."""
    if not isinstance(node.value, dict):
        return ""
    given = _plain(node, "name")
    if isinstance(given, str) and given:
        return given
    for key in ("url", "serverUrl", "httpUrl", "uri", "document"):
        if isinstance(url := _plain(node, key), str):
            return name_of_url(url)
    command = _plain(node, "command")
    words = command if isinstance(command, list) else str(command or "").split()
    args = _plain(node, "args")
    for each in [*words, *(args if isinstance(args, list) else [])]:
        word = str(each)
        name = PurePosixPath(word.split("=", maxsplit=1)[0].rsplit("@", 1)[0] or word).stem
        name = re.sub(r"^(mcp-)?server-|(-mcp)?-server$|^mcp-", "", name)
        if word[:1] not in "-/" and name and name not in _RUNNERS and name not in ("run", "exec"):
            return name
    return PurePosixPath(str(words[0] if words else "")).stem


def _nothing(keys: set[str]) -> str:
    """Return why an object with these keys has no server in it."""
    if keys & {"openapi", "swagger"}:
        return "this is an OpenAPI document: give its address instead"
    if "skills" in keys:
        return "this is an agent card without a url: give the card's address"
    return 'no server is found: expected {"mcpServers": {"name": {"command": …}}}'


def _is_server(node: Node) -> bool:
    keys = set(node.value)
    return bool(keys & {"command", "url", "serverUrl", "httpUrl", "document"}) and not all(
        isinstance(each.value, dict) for each in node.value.values()
    )


def _is_card(node: Node) -> bool:
    return {"skills", "url"} <= set(node.value) and isinstance(_plain(node, "url"), str)


def _plain(node: Node, key: str) -> Any:  # noqa: ANN401 - JSON
    return node.value[key].plain() if key in node.value else None


def _here(text: str) -> str:
    """Return a text with references to variables as Vixio writes them."""
    return _OR_ELSE.sub(r"${\1:\2}", _ELSEWHERE.sub(r"${\1}", text))


def _translated(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {key: _translated(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_translated(each) for each in value]
    return _here(value) if isinstance(value, str) else value


def _words(error: Any) -> str:  # noqa: ANN401 - of pydantic
    """Return what is wrong with an option, without its value, which may be a secret."""
    place = ".".join(str(each) for each in error["loc"])
    words = {
        "string_type": "expected a text in double quotes",
        "dict_type": 'expected {"NAME": "value"}',
        "list_type": "expected a list of texts: [\"…\"]",
        "tuple_type": "expected a list of texts: [\"…\"]",
        "bool_parsing": "expected true or false",
        "missing": "is missing",
        "extra_forbidden": "is not known",
        "literal_error": f"expected one of: {error.get('ctx', {}).get('expected', '')}",
    }.get(error["type"], str(error["msg"]).removeprefix("Value error, "))  # fmt: skip
    return f"{place}: {words}" if place else words
