"""Questions on a terminal, by click."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from vixio.cli.setup.words import Words

BACK = "<"
"""What is typed to return to the question before."""


class Back(Exception):
    """Somebody typed :data:`BACK`."""


class Terminal:
    """A terminal with a person at it.

    In a question Ctrl-C raises click.Abort, and :data:`BACK` raises :class:`Back`.
    ``answered``: questions so far, those with yes or no aside.
    """

    answered = 0

    def __init__(self, words: Words) -> None:
        self.words = words

    def say(self, text: str = "") -> None:
        """Show a line on standard output."""
        click.echo(text)

    def choose(
        self,
        question: str,
        options: Sequence[str],
        default: int,
        hear: Callable[[int], None] | None = None,
    ) -> int:
        """Show the options with numbers from 1, and ask until one of them is named."""
        self.say(f"\n{question}")
        for number, option in enumerate(options, 1):
            self.say(f"  {number}  {option}")
        while True:
            typed = _typed(self.words("choose"), str(default + 1)).lower()
            wanted = typed.removeprefix("h").strip()
            index = int(wanted) - 1 if wanted.isascii() and wanted.isdigit() else -1
            there = 0 <= index < len(options)
            if there and typed == wanted:
                self.answered += 1
                return index
            if there and hear is not None:
                hear(index)
            else:
                self.say(self.words("choose.wrong", count=len(options)))

    def ask(self, question: str, default: str = "", *, hidden: bool = False) -> str:
        """Ask for a text; Enter gives ``default``."""
        typed = _typed(question, default, hidden=hidden)
        self.answered += 1
        return typed

    def confirm(self, question: str, *, default: bool) -> bool:
        """Ask for yes or no."""
        return click.confirm(question, default=default)


def _typed(question: str, default: str, *, hidden: bool = False) -> str:
    typed: str = click.prompt(
        question,
        default=default,
        show_default=bool(default) and not hidden,
        hide_input=hidden,
        type=str,
    )
    if typed.strip() == BACK:
        raise Back
    return typed.strip()
