"""The ready tools within the question about tools: each tried at once, then off the list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vixio.cli.setup.answers import Answers
from vixio.cli.setup.choices import Choice
from vixio.cli.setup.terminal import Terminal
from vixio.cli.setup.trial import SetupTrials
from vixio.core.errors import ConfigError

_SEARCH_KEY: Final = "TAVILY_API_KEY"
_CALENDAR: Final = "CALENDAR_ADDRESS"

LIBRARIES: Final = {"news": "feedparser", "calendar": "ical", "dates": "lunar_python"}

READY: Final = ("weather", "news", "calculator", "dates", "calendar", "search")
"""In the order in which they are offered."""


class ReadyTools:
    """Those that are on. ``present``: the section ``tools`` of the settings."""

    def __init__(
        self,
        present: Any,  # noqa: ANN401 - any YAML value
        terminal: Terminal,
        trials: SetupTrials,
        environment: Mapping[str, str],
    ) -> None:
        self._section: dict[str, Any] = dict(present) if isinstance(present, dict) else {}
        self._on = _options(self._section.get("ready"))
        self._had = dict(self._on)
        self._terminal = terminal
        self._trials = trials
        self._environment = environment

    @property
    def off(self) -> list[str]:
        """The names of those that can be added."""
        return [name for name in READY if name not in self._on]

    @property
    def any_on(self) -> bool:
        """Whether there is one."""
        return bool(self._on)

    def title(self, name: str) -> str:
        """Return what is said of one."""
        return self._terminal.words(f"tools.{name}")

    def ask(self, name: str, answers: Answers) -> None:
        """Ask for what it needs, and add it. Raises VixioError if it does not work."""
        words, ask = self._terminal.words, self._terminal.ask
        options: dict[str, Any] = {}
        if name == "weather" and (place := ask(words("tools.weather.place"))):
            options = {"place": place}
        elif name == "calendar":
            address = ask(words("tools.calendar.url"))
            if not address:
                return
            options = self._calendar(address, answers)
        elif name == "search":
            known = self._environment.get(_SEARCH_KEY, "")
            found = ask(words("tools.search.where"), known, hidden=True)
            if not found:
                return
            if found.startswith(("http://", "https://")):
                options = {"service": "searxng", "base_url": found}
            else:
                answers.env[_SEARCH_KEY] = found
        self._add(name, options, answers)

    def take(self, name: str, value: str, answers: Answers) -> None:
        """Add the one that is given as ``name=value``. Raises VixioError if it does not work."""
        options: dict[str, Any] = {}
        if name == "weather" and value:
            options = {"place": value}
        elif name == "calendar":
            if not value:
                raise ConfigError("--tools calendar=URL: give the address of the calendar")
            options = self._calendar(value, answers)
        elif name == "search" and value:
            options = {"service": "searxng", "base_url": value}
        elif value:
            raise ConfigError(f"--tools {name}: it takes no value")
        self._add(name, options, answers)

    def write(self, answers: Answers) -> None:
        """Put them into the answers, if one was added."""
        if self._on != self._had:
            listed = [{name: given} if given else name for name, given in self._on.items()]
            answers.sections["tools"] = {**self._section, "ready": listed}

    def _calendar(self, address: str, answers: Answers) -> dict[str, Any]:
        answers.env[_CALENDAR] = address  # whoever has it reads the calendar
        return {"addresses": [f"${{{_CALENDAR}}}"]}

    def _add(self, name: str, options: dict[str, Any], answers: Answers) -> None:
        choice = Choice(name=name, kind="tool", extra="ready", module=LIBRARIES.get(name, ""))
        if not choice.is_installed():
            self._trials.install([choice])
        env = {**self._environment, **answers.env}
        told = self._trials.ready(name, options, env)
        words = self._terminal.words
        self._terminal.say(
            words("tools.works", name=name, told=told) if told else words("tools.on", name=name)
        )
        self._on[name] = options


def _options(present: Any) -> dict[str, Any]:  # noqa: ANN401 - any YAML value
    """Return the options by name of what the settings have, in either of its forms."""
    if isinstance(present, dict):
        return {str(name): given or {} for name, given in present.items()}
    found: dict[str, Any] = {}
    for entry in present if isinstance(present, list) else []:
        found.update({entry: {}} if isinstance(entry, str) else _options(entry))
    return found
