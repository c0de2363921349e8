"""The questions: language, ears, model, voice, tools. What is given or known is not asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from vixio.cli.setup.accounts import AccountQuestion
from vixio.cli.setup.answers import Answers, Given
from vixio.cli.setup.choices import COMMANDS, FREE, SERVICE, Choice
from vixio.cli.setup.models import ModelQuestion
from vixio.cli.setup.pace import MODEL
from vixio.cli.setup.services import Service
from vixio.cli.setup.settings_file import Present
from vixio.cli.setup.terminal import Back, Terminal
from vixio.cli.setup.tools import ToolsQuestion
from vixio.cli.setup.trial import SetupTrials
from vixio.cli.setup.vendors import EVERY_EAR, EVERY_VOICE, VENDORS, offered
from vixio.cli.setup.words import Words
from vixio.core.errors import ConfigError, VixioError
from vixio.core.language_tags import primary

_TAG: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")

LANGUAGES: Final = (
    ("en", "English"),
    ("zh-CN", "中文"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("it", "Italiano"),
    ("ja", "日本語"),
    ("ko", "한국어"),
    ("pt-BR", "Português"),
    ("ru", "Русский"),
)
"""Those that the assistant's own words are in, each by the name that it gives itself."""


@dataclass(slots=True)
class _Draft:
    """The answers so far. ``service``: of the language model; None: the phrase book."""

    answers: Answers
    ears: Choice | None = None
    service: Service | None = None

    def copy(self) -> _Draft:
        return replace(self, answers=self.answers.copy())


class Interview:
    """Asks whoever is at the terminal; ``asking`` false: takes defaults for what is not given."""

    def __init__(
        self,
        given: Given,
        present: Present,
        terminal: Terminal,
        trials: SetupTrials,
        environment: Mapping[str, str],
        *,
        asking: bool,
    ) -> None:
        self._given = given
        self._present = present
        self._terminal = terminal
        self._trials = trials
        self._asking = asking
        self._environment = {**environment}
        self._environment.update(
            {name: value for name, value in present.env.items() if not environment.get(name)}
        )

        self._account = AccountQuestion(
            given, present, terminal, trials, self._environment, asking=asking
        )
        self._pace = trials.pace()
        self._asked: list[tuple[int, _Draft]] = []
        """The steps that asked something, each with the answers before it."""

    def run(self) -> Answers:
        """Return the answers. Raises ConfigError for one that is given and cannot be."""
        return self._from(0, _Draft(Answers("")))

    @property
    def may_return(self) -> bool:
        """Whether anything was asked."""
        return bool(self._asked)

    def again(self) -> Answers:
        """Ask the last question once more; return the answers with what is said to it."""
        return self._from(*self._asked.pop())

    def _from(self, number: int, draft: _Draft) -> Answers:
        """Take the steps from ``number`` on.

        Who goes back in the second question of a step has its first one asked again.
        """
        steps = (self._language, self._ears, self._model, self._voice, self._tools)
        while number < len(steps):
            before, answered = draft.copy(), self._terminal.answered
            try:
                steps[number](draft)
            except Back:
                draft = before
                if self._terminal.answered == answered and self._asked:
                    number, draft = self._asked.pop()
                continue
            if self._terminal.answered > answered:
                self._asked.append((number, before))
            number += 1
        return draft.answers

    def _language(self, draft: _Draft) -> None:
        greeted = bool(draft.answers.language)
        language = draft.answers.language = self._chosen_language()
        draft.answers.sections["assistant"] = {"language": language}
        self._terminal.words = words = Words(language)
        if self._asking and not greeted:
            self._terminal.say(words("hello"))

    def _chosen_language(self) -> str:
        words, terminal = self._terminal.words, self._terminal
        present = self._present.language or self._environment.get("LANG", "").partition(".")[0]
        present = present.replace("_", "-")
        if self._given.language:
            return self._tag(self._given.language)
        usual = next((tag for tag, _ in LANGUAGES if primary(tag) == primary(present)), "")
        known = present if self._present.language and _TAG.fullmatch(present) else usual or "en"
        if not self._asking:
            return known
        names = [name for _, name in LANGUAGES]
        default = next(
            (i for i, (tag, _) in enumerate(LANGUAGES) if primary(tag) == primary(known)),
            len(LANGUAGES),
        )
        index = terminal.choose(words("language"), [*names, words("language.other")], default)
        if index < len(LANGUAGES):
            chosen = LANGUAGES[index][0]
            return known if primary(known) == primary(chosen) else chosen
        while True:
            tag = terminal.ask(words("language.tag"), known if default == index else "")
            try:
                return self._tag(tag)
            except ConfigError:
                terminal.say(words("language.wrong", tag=tag))

    def _tag(self, text: str) -> str:
        if not _TAG.fullmatch(text):
            raise ConfigError(f"--language: expected a tag such as en or zh-CN, found {text!r}")
        return "zh-CN" if text.lower() == "zh" else text

    def _ears(self, draft: _Draft) -> None:
        """Choose the recogniser; None: the present one stays."""
        language = draft.answers.language
        suitable = [choice for choice in EVERY_EAR if choice.suits(language)]
        given = self._given.ears
        if given == FREE:
            draft.ears = next(choice for choice in suitable if choice.name != COMMANDS)
        elif given:
            draft.ears = _named(given, suitable, EVERY_EAR, "--ears", language)
        else:
            shown = offered(suitable, language)
            titles = [self._title(each) for each in shown]
            draft.ears = self._chosen("ears", shown, titles, self._pace.preferred(shown))
        draft.ears = self._with_account(draft.ears, draft.answers)

    def _model(self, draft: _Draft) -> None:
        question = ModelQuestion(
            self._given,
            self._present.section("agent"),
            self._terminal,
            self._trials,
            self._environment,
            self._account,
            asking=self._asking,
        )
        ears = draft.ears
        by_service = ears is not None and ears.name == SERVICE
        draft.service = question.ask(draft.answers, speech=by_service)
        self._take("asr", ears, draft.service, draft.answers)

    def _voice(self, draft: _Draft) -> None:
        """Choose the voice; None: the present one stays."""
        language, service = draft.answers.language, draft.service
        speaks = service is not None and service.tts is not None
        suitable = [
            each
            for each in EVERY_VOICE
            if each.suits(language) and (each.name != SERVICE or speaks)
        ]
        if self._given.voice:
            known = EVERY_VOICE
            chosen: Choice | None = _named(self._given.voice, suitable, known, "--voice", language)
        else:
            shown = offered(suitable, language)
            titles = [self._title(each, service) for each in shown]
            fast = self._pace.preferred(shown, *filter(None, (draft.ears,)))

            def hear(choice: Choice | None) -> None:
                present = self._present.section("tts")
                section = present if choice is None else _section("tts", choice, service)
                title = self._title(choice, service) if choice else _name(present)
                self._hear(choice, section, re.split("[:：]", title)[0], draft.answers)

            chosen = self._chosen("voice", shown, titles, fast, hear)
        chosen = self._with_account(chosen, draft.answers)
        self._take("tts", chosen, service, draft.answers)
        if draft.ears is not None and chosen is not None:  # of parts that stay nothing is known
            seconds = self._pace.turn(*draft.answers.needed)
            self._terminal.say(self._terminal.words("pace", seconds=f"{seconds:.1f}"))
        self._proposed(draft.answers)

    def faster(self, answers: Answers, waits: Mapping[str, float]) -> bool:
        """Propose another part if what was tried is too slow; return whether it was taken.

        ``waits``: seconds by the kind of part, as measured.
        """
        known = {each.key: waits[each.kind] for each in answers.needed if each.kind in waits}
        measured = {**self._pace.measured, **known, MODEL: waits.get("agent", 0.0)}
        self._pace = replace(self._pace, measured=measured)
        return self._proposed(answers)

    def _proposed(self, answers: Answers) -> bool:
        words, pace, taken = self._terminal.words, self._pace, False
        while found := pace.faster(answers.needed, answers.language):
            slow, fast = found
            seconds = pace.turn(fast, *(each for each in answers.needed if each is not slow))
            names = {"slow": slow.name, "fast": self._title(fast)}
            question = words("pace.slow", seconds=f"{seconds:.1f}", **names)
            if not self._asking:
                self._terminal.say(question.splitlines()[0])
                break
            if not self._terminal.confirm(question, default=True):
                break
            answers.needed.remove(slow)
            self._take(fast.kind, fast, None, answers)
            taken = True
        return taken

    def _tools(self, draft: _Draft) -> None:
        question = ToolsQuestion(
            self._given.tools,
            self._present,
            self._terminal,
            self._trials,
            self._environment,
            asking=self._asking,
        )
        has_model = draft.answers.sections["agent"] != {"name": "phrasebook"}
        question.ask(draft.answers, has_model=has_model)

    def _chosen(
        self,
        question: str,
        choices: list[Choice],
        titles: list[str],
        default: int,
        hear: Any = None,  # noqa: ANN401 - a function of a choice
    ) -> Choice | None:
        """Return one of ``choices``; None: what is there stays. ``default``: if nothing is."""
        every: list[Choice | None] = [*choices]
        present = self._present.section(choices[0].kind)
        if present is not None:  # as is the section of a service
            sections = [each.section for each in choices]
            default = sections.index(present) if present in sections else len(choices)
        if default == len(choices):
            every.append(None)
            titles = [*titles, self._terminal.words("keep", name=_name(present))]
        if not self._asking:
            fitting = [i for i, each in enumerate(every) if each is None or not each.account]
            return every[default if default in fitting else fitting[0]] if fitting else every[0]
        listen = None if hear is None else lambda index: hear(every[index])
        words = self._terminal.words
        return every[self._terminal.choose(words(question), titles, default, listen)]

    def _with_account(self, choice: Choice | None, answers: Answers) -> Choice | None:
        """Return a choice with the section that its account makes. Raises ConfigError."""
        if choice is None or choice.name not in VENDORS:
            return choice
        return replace(choice, section=self._account.ask(choice, VENDORS[choice.name], answers))

    def _title(self, choice: Choice, service: Service | None = None) -> str:
        """Return what is said of a choice, and what it adds to a turn on this machine."""
        words, group = self._terminal.words, "ears" if choice.kind == "asr" else "voice"
        title, name = service.title if service is not None else "", choice.name
        if name in VENDORS and VENDORS[name].page:
            title, name = words(f"vendor.{name}"), "vendor"
        told = words(f"{group}.{name}", title=title)
        wait = self._pace.wait(choice)
        return told + (words("pace.part", seconds=f"{wait:.1f}") if wait >= 0.05 else "")

    def _hear(
        self,
        choice: Choice | None,
        section: Any,  # noqa: ANN401 - any YAML value
        name: str,
        answers: Answers,
    ) -> None:
        words, terminal = self._terminal.words, self._terminal
        try:
            if choice is not None and not choice.is_installed():
                if not terminal.confirm(words("voice.first"), default=True):
                    return
                self._trials.install([choice])
            env = {**self._environment, **answers.env}
            path = self._trials.speak(section, answers.language, env)
        except VixioError as error:
            terminal.say(" ".join(str(error).split()))
            return
        if path:
            terminal.say(words("voice.no_player", path=path))
        else:
            terminal.say(words("voice.played", name=name))

    def _take(
        self, kind: str, choice: Choice | None, service: Service | None, answers: Answers
    ) -> None:
        present = self._present.section(kind)
        if choice is None:
            answers.sections[kind] = present
            return
        section = _section(kind, choice, service)
        if _same_service(present, section):
            section = present
        answers.needed.append(choice)
        answers.take(kind, section, self._title(choice, service))


def _same_service(present: object, section: object) -> bool:
    """Return whether the present section is the same but for further options."""
    if not isinstance(present, dict) or not isinstance(section, dict):
        return False
    return all(present.get(name) == value for name, value in section.items())


def _section(kind: str, choice: Choice, service: Service | None) -> Any:  # noqa: ANN401 - any YAML value
    if choice.name != SERVICE:
        return choice.section
    options = getattr(service, kind) if service is not None else None
    if service is None or options is None:
        raise ConfigError(
            f"{kind}: this service has none; --model openai and --model siliconflow have"
        )
    return {"name": "openai", **service.connection(), **options}


def _named(
    name: str, suitable: list[Choice], every: tuple[Choice, ...], option: str, language: str
) -> Choice:
    found = next((choice for choice in suitable if choice.name == name), None)
    if found is None:
        fit = ", ".join(choice.name for choice in suitable)
        known = any(choice.name == name for choice in every)
        why = f"{name!r} does not fit here" if known else f"there is no {name!r}"
        raise ConfigError(f"{option}: {why}; for {language}: {fit}")
    return found


def _name(section: Any) -> str:  # noqa: ANN401 - any YAML value
    first = section[0] if isinstance(section, list) and section else section
    return str(first.get("name", "")) if isinstance(first, dict) else ""
