"""What the set-up is given on the command line, and what comes out of its questions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from vixio.cli.setup.choices import Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The answers that stand on the command line; empty: to be asked."""

    language: str = ""
    ears: str = ""
    model: str = ""
    model_name: str = ""
    key: str = ""
    voice: str = ""
    tools: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """Return the options of the questions that have no answer."""
        questions = ("language", "ears", "model", "voice", "tools")
        return [f"--{name}" for name in questions if not getattr(self, name)]


@dataclass(slots=True)
class Answers:
    """The sections to be written, the variables for ``.env``, and what must be installed."""

    language: str
    sections: dict[str, Any] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    """One line for a section."""
    env: dict[str, str] = field(default_factory=dict)
    needed: list[Choice] = field(default_factory=list)

    def copy(self) -> Answers:
        """Return the same answers, to which others can be added."""
        return replace(
            self,
            sections={**self.sections},
            comments={**self.comments},
            env={**self.env},
            needed=[*self.needed],
        )

    def take(self, name: str, section: Any, comment: str) -> None:  # noqa: ANN401 - any YAML value
        """Add a section; of what was said about it, the beginning becomes its comment."""
        self.sections[name] = section
        self.comments[name] = re.split("[;；]", comment)[0].strip()
