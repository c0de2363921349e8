"""The question about tools: ready ones, Home Assistant and other MCP servers, tried at once."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from vixio.cli.setup.answers import Answers
from vixio.cli.setup.ready import READY, ReadyTools
from vixio.cli.setup.settings_file import Present
from vixio.cli.setup.terminal import Terminal
from vixio.cli.setup.trial import SetupTrials
from vixio.core.errors import ConfigError, VixioError
from vixio.tools.mcp.settings import TAKEN

HOME: Final = "home-assistant"
MCP: Final = "mcp"
NONE: Final = "none"

_HOME_NAME: Final = "home"
_HOME_URL: Final = "http://homeassistant.local:8123"
_HOME_TOKEN: Final = "HOME_ASSISTANT_TOKEN"  # noqa: S105 - the name of a variable
_HOME_PATHS: Final = ("/api/mcp", "/mcp_server/sse")
"""Of Home Assistant's integration "Model Context Protocol Server"; the second of older versions."""


class ToolsQuestion:
    """Asks for tools. ``given``: ``none``, a ready tool such as ``weather`` or ``weather=PLACE``,
    ``home-assistant=URL``, ``mcp=COMMAND or URL``. ``present``: the sections that are there."""

    def __init__(
        self,
        given: tuple[str, ...],
        present: Present,
        terminal: Terminal,
        trials: SetupTrials,
        environment: Mapping[str, str],
        *,
        asking: bool,
    ) -> None:
        self._given = given
        servers = present.section("mcp_servers")
        self._servers: dict[str, Any] = dict(servers) if isinstance(servers, dict) else {}
        self._ready = ReadyTools(present.section("tools"), terminal, trials, environment)
        self._had = set(self._servers)
        self._terminal = terminal
        self._trials = trials
        self._environment = environment
        self._asking = asking

    def ask(self, answers: Answers, *, has_model: bool) -> None:
        """Add the servers to the answers; those that are there stay. Raises ConfigError."""
        words = self._terminal.words
        if self._given:
            self._take_given(answers)
        elif self._asking:
            self._ask(answers)
        if set(self._servers) - self._had - {_HOME_NAME} and not has_model:
            self._terminal.say(words("tools.need_model"))
        if self._servers:
            answers.sections["mcp_servers"] = self._servers
        self._ready.write(answers)

    def _take_given(self, answers: Answers) -> None:
        for each in self._given:
            kind, _, value = each.partition("=")
            if kind == HOME:
                token = self._environment.get(_HOME_TOKEN, "")
                if not token:
                    raise ConfigError(f"--tools {HOME}: the token is read from ${_HOME_TOKEN}")
                self._add_home(value or _HOME_URL, token, answers)
            elif kind == MCP and value:
                self._add(value)
            elif kind in READY:
                self._ready.take(kind, value, answers)
            elif each != NONE:
                raise ConfigError(
                    f"--tools: expected {NONE}, {', '.join(READY)}, {HOME}=URL or {MCP}=COMMAND, "
                    f"found {each!r}"
                )

    def _ask(self, answers: Answers) -> None:
        words, terminal = self._terminal.words, self._terminal
        while True:
            nothing = words("tools.done" if self._servers or self._ready.any_on else "tools.none")
            names = [HOME, MCP, *self._ready.off]
            titles = [words("tools.home"), words("tools.mcp"), *map(self._ready.title, names[2:])]
            chosen = terminal.choose(words("tools"), [nothing, *titles], 0)
            if chosen == 0:
                return
            name = names[chosen - 1]
            try:
                if name == HOME:
                    self._ask_home(answers)
                elif name != MCP:
                    self._ready.ask(name, answers)
                elif command := terminal.ask(words("tools.command")):
                    self._add(command)
            except VixioError as error:
                told = " ".join(str(error).split())
                terminal.say(words("tools.failed", name=name, error=told))
                if name == HOME:
                    terminal.say(words("tools.home.off"))

    def _ask_home(self, answers: Answers) -> None:
        words, terminal = self._terminal.words, self._terminal
        url = terminal.ask(words("tools.url"), _HOME_URL)
        if not url:
            return
        known = self._environment.get(_HOME_TOKEN, "")
        question = words("tools.token.kept" if known else "tools.token", variable=_HOME_TOKEN)
        self._add_home(url, terminal.ask(question, known, hidden=True), answers)

    def _add_home(self, url: str, token: str, answers: Answers) -> None:
        root = url.rstrip("/")
        given = urlsplit(root).path
        tried = [root] if given else [root + path for path in _HOME_PATHS]
        failures: list[VixioError] = []
        for address in tried:
            section = {"url": address, "headers": {"Authorization": f"Bearer {token}"}}
            try:
                count = self._trials.tools(_HOME_NAME, section)
            except VixioError as error:
                failures.append(error)
                continue
            written = {"Authorization": f"Bearer ${{{_HOME_TOKEN}}}"}
            self._servers[_HOME_NAME] = {"url": address, "headers": written}
            answers.env[_HOME_TOKEN] = token
            self._terminal.say(self._terminal.words("tools.count", name=_HOME_NAME, count=count))
            return
        raise failures[0]

    def _add(self, text: str) -> None:
        if text.startswith(("http://", "https://")):
            section: dict[str, Any] = {"url": text}
            name = urlsplit(text).hostname or ""
        else:
            try:
                command, *args = shlex.split(text)
            except ValueError:
                raise ConfigError(f"{text!r}: a quote is not closed") from None
            section = {"command": command, "args": args} if args else {"command": command}
            name = next((each for each in reversed(args) if re.search("[a-z]", each)), command)
        name = self._free_name(name)
        count = self._trials.tools(name, section)
        self._servers[name] = _literal(section)
        self._terminal.say(self._terminal.words("tools.count", name=name, count=count))

    def _free_name(self, text: str) -> str:
        """Return a name for a source, from its address or the last word of its command."""
        last = re.split(r"[/\\@]", text.rstrip("/"))[-1]
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", last.removesuffix(".py")).strip("-_")[:40] or "tools"
        taken = {*self._servers, *TAKEN}
        return next(
            each
            for each in (name, *(f"{name}-{number}" for number in range(2, 1000)))
            if each not in taken
        )


def _literal(value: Any) -> Any:  # noqa: ANN401 - any YAML value
    """Return ``value`` so that nothing in it is taken for a variable."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, list):
        return [_literal(each) for each in value]
    if isinstance(value, dict):
        return {key: _literal(each) for key, each in value.items()}
    return value
