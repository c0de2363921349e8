"""A terminal whose person has decided before, and trials without a network or a package index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vixio.cli.setup.answers import Answers, Given
from vixio.cli.setup.choices import Choice
from vixio.cli.setup.interview import Interview
from vixio.cli.setup.pace import Pace
from vixio.cli.setup.settings_file import Present
from vixio.cli.setup.terminal import BACK, Back, Terminal
from vixio.cli.setup.trial import SetupTrials
from vixio.cli.setup.words import Words
from vixio.core.errors import ProviderError, ToolError

Answer = str | bool


class ScriptedTerminal(Terminal):
    """Answers in order: for a choice the beginning or part of an option, `hear …` to hear it."""

    def __init__(self, *answers: Answer) -> None:
        self.words = Words("en")
        self.answers = list(answers)
        self.said: list[str] = []
        self.hidden: list[str] = []

    def say(self, text: str = "") -> None:
        self.said.append(text)

    def choose(
        self,
        question: str,
        options: Sequence[str],
        default: int,
        hear: Callable[[int], None] | None = None,
    ) -> int:
        self.said += [question, *options]
        while True:
            answer = self._next(question)
            if answer == "":
                self.answered += 1
                return default
            listen = answer.startswith("hear ")
            wanted = answer.removeprefix("hear ")
            (index,) = [i for i, option in enumerate(options) if wanted in option] or [-1]
            assert index >= 0, (wanted, options)
            if not listen:
                self.answered += 1
                return index
            assert hear is not None
            hear(index)

    def ask(self, question: str, default: str = "", *, hidden: bool = False) -> str:
        self.said.append(question)
        if hidden:
            self.hidden.append(question)
        typed = self._next(question)
        self.answered += 1
        return typed or default

    def confirm(self, question: str, *, default: bool) -> bool:
        self.said.append(question)
        answer = self.answers.pop(0)
        assert isinstance(answer, bool), (question, answer)
        return answer

    def _next(self, question: str) -> str:
        assert self.answers, f"not foreseen: {question}"
        answer = self.answers.pop(0)
        assert isinstance(answer, str), (question, answer)
        if answer == BACK:
            raise Back
        return answer


class ScriptedTrials(SetupTrials):
    """``keys``: by address, those that are accepted, with the models; others are refused.

    ``slowness``: of the machine. ``verdicts``: of vendors, the next one first.
    """

    def __init__(
        self,
        keys: Mapping[tuple[str, str], list[str] | None] | None = None,
        servers: Mapping[str, int] | None = None,
        slowness: float = 1.0,
    ) -> None:
        self.keys = dict(keys or {})
        self.servers = dict(servers or {})
        self.slowness = slowness
        self.tried: list[tuple[str, str]] = []
        self.installed: list[str] = []
        self.fetched: list[str] = []
        self.spoken: list[Any] = []
        self.verdicts: list[bool | ProviderError | None] = []
        self.verified: list[tuple[str, Any, dict[str, str]]] = []

    def pace(self) -> Pace:
        return Pace(self.slowness, 2)

    def models(self, base_url: str, key: str) -> list[str] | None:
        self.tried.append((base_url, key))
        if (base_url, key) in self.keys:
            return self.keys[base_url, key]
        if any(url == base_url for url, _ in self.keys):
            raise ProviderError("openai", "refused (401)", retryable=False, reason="no_key")
        raise ProviderError("openai", "cannot be reached", reason="unreachable")

    def verify(self, kind: str, section: Any, env: Mapping[str, str]) -> bool | None:  # noqa: ANN401 - YAML
        self.verified.append((kind, dict(section), dict(env)))
        verdict = self.verdicts.pop(0)
        if isinstance(verdict, ProviderError):
            raise verdict
        return verdict

    def tools(self, name: str, server: dict[str, Any]) -> int:
        where = str(server.get("url") or server["command"])
        if where not in self.servers:
            raise ProviderError(name, "404 Not Found")
        return self.servers[where]

    def ready(self, name: str, options: Mapping[str, Any], env: Mapping[str, str]) -> str:
        asked = str(options) if options else name
        for variable, value in env.items():
            asked = asked.replace(f"${{{variable}}}", value)
        self.tried.append((name, asked))
        if "down" in asked:
            raise ToolError("timeout", f"{name}: no answer in time")
        return "" if name in ("calculator", "dates") else f"{name} 5 ms"

    def install(self, choices: list[Choice]) -> None:
        self.installed += [each.name for each in choices]

    def fetch(self, model: str) -> None:
        self.fetched.append(model)

    def speak(self, section: Any, language: str, env: dict[str, str]) -> str:  # noqa: ANN401 - YAML
        self.spoken.append((section, language))
        return ""


def interview(
    path: Path,
    terminal: ScriptedTerminal,
    trials: ScriptedTrials,
    given: Given | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    asking: bool = True,
) -> Answers:
    """Hold the interview with the settings at ``path``; all scripted answers must be used."""
    asked = Interview(
        given or Given(), Present(path), terminal, trials, environment or {}, asking=asking
    )
    answers = asked.run()
    assert terminal.answers == []
    return answers
