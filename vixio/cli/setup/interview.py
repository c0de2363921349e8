"""The questions: language, ears, model, voice, tools. What is given or known is not asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from vixio.cli.setup.answers import Answers, Given
from vixio.cli.setup.choices import COMMANDS, EARS, FREE, SERVICE, VOICES, Choice
from vixio.cli.setup.models import ModelQuestion
from vixio.cli.setup.services import Service
from vixio.cli.setup.settings_file import Present
from vixio.cli.setup.terminal import Terminal
from vixio.cli.setup.tools import ToolsQuestion
from vixio.cli.setup.trial import SetupTrials
from vixio.cli.setup.words import Words
from vixio.core.errors import ConfigError, VixioError
from vixio.core.language_tags import primary

_TAG: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")

_LANGUAGES: Final = (("en", "English"), ("zh-CN", "中文"))


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

    def run(self) -> Answers:
        """Return the answers. Raises ConfigError for one that is given and cannot be."""
        language = self._language()
        self._terminal.words = words = Words(language)
        if self._asking:
            self._terminal.say(words("hello"))
        answers = Answers(language, {"assistant": {"language": language}})
        ears = self._ears(language)
        question = ModelQuestion(
            self._given,
            self._present.section("agent"),
            self._terminal,
            self._trials,
            self._environment,
            asking=self._asking,
        )
        service = question.ask(answers, speech=ears is not None and ears.name == SERVICE)
        self._take("asr", ears, service, answers)
        self._take("tts", self._voice(answers, service), service, answers)
        tools = ToolsQuestion(
            self._given.tools,
            self._present.section("mcp_servers"),
            self._terminal,
            self._trials,
            self._environment,
            asking=self._asking,
        )
        tools.ask(answers, has_model=answers.sections["agent"] != {"name": "phrasebook"})
        return answers

    def _language(self) -> str:
        words, terminal = self._terminal.words, self._terminal
        present = self._present.language or self._environment.get("LANG", "").partition(".")[0]
        present = present.replace("_", "-")
        if self._given.language:
            return self._tag(self._given.language)
        usual = next((tag for tag, _ in _LANGUAGES if primary(tag) == primary(present)), "")
        known = present if self._present.language and _TAG.fullmatch(present) else usual or "en"
        if not self._asking:
            return known
        names = [name for _, name in _LANGUAGES]
        default = next(
            (i for i, (tag, _) in enumerate(_LANGUAGES) if primary(tag) == primary(known)), 2
        )
        index = terminal.choose(words("language"), [*names, words("language.other")], default)
        if index < len(_LANGUAGES):
            chosen = _LANGUAGES[index][0]
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

    def _ears(self, language: str) -> Choice | None:
        """Return the recogniser; None: the present one stays."""
        suitable = [choice for choice in EARS if choice.suits(language)]
        given = self._given.ears
        if given == FREE:
            return next(choice for choice in suitable if choice.name != COMMANDS)
        if given:
            return _named(given, suitable, EARS, "--ears", language)
        words = self._terminal.words
        present = self._present.section("asr")
        titles = [words(f"ears.{choice.name}") for choice in suitable]
        return self._chosen("ears", suitable, titles, present)

    def _voice(self, answers: Answers, service: Service | None) -> Choice | None:
        """Return the voice; None: the present one stays."""
        language = answers.language
        speaks = service is not None and service.tts is not None
        suitable = [
            each for each in VOICES if each.suits(language) and (each.name != SERVICE or speaks)
        ]
        if self._given.voice:
            return _named(self._given.voice, suitable, VOICES, "--voice", language)
        words = self._terminal.words
        title = service.title if service is not None else ""
        titles = [words(f"voice.{choice.name}", title=title) for choice in suitable]

        def hear(choice: Choice | None) -> None:
            if choice is None:
                section = self._present.section("tts")
            else:
                section = _section("tts", choice, service)
            self._hear(choice, section, answers)

        return self._chosen("voice", suitable, titles, self._present.section("tts"), hear)

    def _chosen(
        self,
        question: str,
        choices: list[Choice],
        titles: list[str],
        present: Any,  # noqa: ANN401 - any YAML value
        hear: Any = None,  # noqa: ANN401 - a function of a choice
    ) -> Choice | None:
        """Return one of ``choices``; None: what is there stays."""
        every: list[Choice | None] = [*choices]
        default = next((i for i, each in enumerate(choices) if each.section == present), 0)
        if present is not None and all(each.section != present for each in choices):
            every.append(None)
            titles = [*titles, self._terminal.words("keep", name=_name(present))]
            default = len(choices)
        if not self._asking:
            fitting = [i for i, each in enumerate(every) if each is None or each.name != SERVICE]
            return every[default if default in fitting else fitting[0]] if fitting else every[0]
        listen = None if hear is None else lambda index: hear(every[index])
        words = self._terminal.words
        return every[self._terminal.choose(words(question), titles, default, listen)]

    def _hear(self, choice: Choice | None, section: Any, answers: Answers) -> None:  # noqa: ANN401 - any YAML value
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
            terminal.say(words("voice.played", name=_name(section)))

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
        group = "ears" if kind == "asr" else "voice"
        title = service.title if service is not None else ""
        words = self._terminal.words
        answers.take(kind, section, words(f"{group}.{choice.name}", title=title))


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
