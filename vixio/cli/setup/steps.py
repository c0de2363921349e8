"""``vixio setup`` from its first question to the device, in order."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from vixio.cli.banner import expected, vixio_command
from vixio.cli.check import HEADING, row_line
from vixio.cli.config import colour
from vixio.cli.diagnostics.live import check_live, waits
from vixio.cli.diagnostics.row import Row
from vixio.cli.service import BOOTED
from vixio.cli.setup.answers import Answers, Given
from vixio.cli.setup.arrival import serve, show_url
from vixio.cli.setup.choices import EARS, PACKAGED, Choice
from vixio.cli.setup.interview import Interview
from vixio.cli.setup.settings_file import Present, composed, difference, write
from vixio.cli.setup.terminal import Back, Terminal
from vixio.cli.setup.trial import SetupTrials, load_text
from vixio.cli.status import StatusLine
from vixio.core.errors import ConfigError
from vixio.providers.downloads.errors import ModelError
from vixio.settings import Settings
from vixio.settings.env_file import env_file, load_env

_CHANGE, _WRITE, _STOP = "failed.change", "failed.write", "failed.stop"

_ORDER = ("assistant", "asr", "agent", "tts", "mcp_servers", "tools")
"""Of the sections in a new file: the way of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """``asking``: somebody is at the terminal; ``yes``: overwrite without a question."""

    path: Path
    asking: bool
    yes: bool
    wait: bool


class SetUp:
    """One run. ``written``: whether the settings are there by now."""

    def __init__(self, how: How, given: Given, terminal: Terminal, trials: SetupTrials) -> None:
        self._how = how
        self._given = given
        self._terminal = terminal
        self._trials = trials
        self.written = False

    def run(self) -> int:
        """Return the exit status: 0, or 1 if a part does not work. Raises VixioError."""
        how = self._how
        if not how.asking and not how.yes and (missing := self._given.missing()):
            raise ConfigError(
                f"there is no terminal to ask at: give {' '.join(missing)}, or --yes for the "
                "proposed answers"
            )
        present = Present(how.path)
        interview = Interview(
            self._given, present, self._terminal, self._trials, os.environ, asking=how.asking
        )
        answers = interview.run()
        while True:
            self._get(answers)
            words = self._terminal.words
            sections = {name: answers.sections[name] for name in _ORDER if name in answers.sections}
            text = composed(present, sections, answers.comments, words("settings"))
            settings = self._loaded(text, present, answers)
            rows = self._tried(settings)
            works = all(row.ok for row in rows)
            if works and how.asking and interview.faster(answers, waits(rows)):
                continue
            now = self._what_now(interview) if not works and how.asking else _WRITE
            if now != _CHANGE:
                break
            answers = interview.again()
        if now == _STOP or not self._agreed(present, text, answers):
            self._terminal.say(words("kept"))
            return 1
        self._write(present, text, answers)
        if how.asking:
            self._offer_command()
        load_env(how.path, os.environ)
        os.environ.update(answers.env)
        if how.wait and (works or how.asking):
            asyncio.run(serve(settings, words, self._terminal.say))
        else:
            show_url(expected(settings), words, self._terminal.say)
        self._say_how_to_go_on()
        return 0 if works else 1

    def _what_now(self, interview: Interview) -> str:
        """Ask what is to be done about settings that do not work."""
        options = [_CHANGE, _WRITE, _STOP] if interview.may_return else [_WRITE, _STOP]
        words = self._terminal.words
        titles = [words(each) for each in options]
        try:
            return options[self._terminal.choose(words("failed.what"), titles, 0)]
        except Back:
            return options[0]

    def _offer_command(self) -> None:
        """Offer to make ``vixio`` a command of this user, if it is none yet."""
        ours, folder = Path(sys.executable).with_name("vixio"), Path.home() / ".local" / "bin"
        link, terminal, words = folder / "vixio", self._terminal, self._terminal.words
        if shutil.which("vixio") or os.path.lexists(link) or not ours.exists():
            return
        if not terminal.confirm(words("command", link=link), default=True):
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            link.symlink_to(ours)
        except OSError as error:
            terminal.say(f"{link}: {error.strerror}")
            return
        if shutil.which("vixio") is None:  # ~/.profile of Debian adds the folder once it is there
            terminal.say(words("command.later"))

    def _say_how_to_go_on(self) -> None:
        say, words, path = self._terminal.say, self._terminal.words, self._how.path
        say(f"\n{words('again', command=vixio_command('serve', config=path))}")
        if BOOTED.is_dir():
            say(words("again.service", command=vixio_command("service", config=path)))

    def _get(self, answers: Answers) -> None:
        """Install packages and models. Where no hub can be reached, packages have a recogniser."""
        self._install(answers.needed)
        for choice in [each for each in answers.needed if each.model]:
            try:
                self._trials.fetch(choice.model)
            except ModelError as error:
                if not self._how.asking:
                    raise ConfigError(
                        f"{error}; or --ears {PACKAGED}, which packages carry, or fetch it by "
                        f"itself: vixio models get {choice.model} (--mirror, --from FOLDER)"
                    ) from error
                words = self._terminal.words
                self._terminal.say(str(error))
                if not self._terminal.confirm(
                    words("model.instead", model=choice.model), default=True
                ):
                    raise click.Abort from error
                other = next(each for each in EARS if each.name == PACKAGED)
                answers.take("asr", other.section, words(f"ears.{PACKAGED}"))
                answers.needed[answers.needed.index(choice)] = other
                self._install([other])

    def _install(self, choices: list[Choice]) -> None:
        if missing := [each for each in choices if not each.is_installed()]:
            self._trials.install(missing)

    def _loaded(self, text: str, present: Present, answers: Answers) -> Settings:
        known = {name: value for name, value in present.env.items() if not os.environ.get(name)}
        return load_text(text, {**os.environ, **known, **answers.env}, self._how.path)

    def _tried(self, settings: Settings) -> list[Row]:
        say, words = self._terminal.say, self._terminal.words
        say(f"\n{words('trying')}")
        say(HEADING)
        rows: list[Row] = []
        with StatusLine() as status:

            def show(row: Row) -> None:
                rows.append(row)
                status.clear()
                click.echo(row_line(row), color=colour())

            asyncio.run(check_live(settings, show, status.show))
        if not all(row.ok for row in rows):
            say(words("failed"))
        return rows

    def _agreed(self, present: Present, text: str, answers: Answers) -> bool:
        """Return whether the settings may be written. Raises ConfigError if nobody can say."""
        terminal, words, how = self._terminal, self._terminal.words, self._how
        replaced = {
            name for name, value in answers.env.items() if present.env.get(name, value) != value
        }
        changes = difference(present.text, text) if present.text else []
        changes += [f"{'~' if name in replaced else '+'}{name}=***" for name in sorted(replaced)]
        if not changes:
            return True
        terminal.say(f"\n{words('changes', path=how.path)}")
        for line in changes:
            terminal.say(f"  {line}")
        if how.yes:
            return True
        if not how.asking:
            raise ConfigError(f"{how.path} is there already: --yes replaces it, and keeps a backup")
        return terminal.confirm(words("overwrite"), default=True)

    def _write(self, present: Present, text: str, answers: Answers) -> None:
        path, say, words = self._how.path, self._terminal.say, self._terminal.words
        new = {name: value for name, value in answers.env.items() if present.env.get(name) != value}
        if text == present.text and not new:
            say(f"\n{words('same', path=path)}")
        else:
            backup = write(path, None if text == present.text else text, new)
            say("")
            if new:
                say(words("secrets", names=", ".join(new), path=env_file(path)))
            if text != present.text:
                say(words("wrote", path=path))
            if backup is not None:
                say(words("backup", path=backup))
        self.written = True
