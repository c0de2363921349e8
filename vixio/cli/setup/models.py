"""The question about the language model: which, whose, its key, which is tried at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vixio.cli.setup.accounts import AccountQuestion
from vixio.cli.setup.answers import Answers, Given
from vixio.cli.setup.choices import Choice
from vixio.cli.setup.services import OLLAMA, OTHER, SERVICES, Service, find, other
from vixio.cli.setup.terminal import Terminal
from vixio.cli.setup.trial import SetupTrials
from vixio.cli.setup.vendors import AGENTS, VENDORS, offered
from vixio.core.errors import ConfigError, ProviderError
from vixio.core.language_tags import covers
from vixio.language.phrasebook import LANGUAGES

PHRASEBOOK: Final = "phrasebook"

_KEPT: Final = Service(name="", title="", base_url="", model="")
"""What is there already, of a kind that is not offered here."""

_MOST_LISTED: Final = 15
"""Models in a numbered list; services with more are asked for the name."""


class ModelQuestion:
    """Asks for the section ``agent``. ``present``: that of the settings that are there."""

    def __init__(
        self,
        given: Given,
        present: Any,  # noqa: ANN401 - any YAML value
        terminal: Terminal,
        trials: SetupTrials,
        environment: Mapping[str, str],
        account: AccountQuestion,
        *,
        asking: bool,
    ) -> None:
        self._given = given
        self._account = account
        self._present = present if isinstance(present, dict) else {}
        self._terminal = terminal
        self._trials = trials
        self._environment = environment
        self._asking = asking
        self._language = ""

    def ask(self, answers: Answers, *, speech: bool) -> Service | None:
        """Add the section to the answers; return the service, None for the phrase book.

        ``speech``: only services that recognise speech. Raises ConfigError.
        """
        self._language = answers.language
        service = self._service(speech=speech)
        if isinstance(service, Choice):
            section = self._account.ask(service, VENDORS[service.name], answers)
            answers.take("agent", section, self._terminal.words(f"vendor.{service.name}"))
            return None
        if service is None:
            said = self._terminal.words("model.phrasebook")
            answers.take("agent", {"name": PHRASEBOOK}, said)
            return None
        if service is _KEPT:
            answers.sections["agent"] = self._present
            return None
        if speech and service.asr is None:
            fit = ", ".join(each.name for each in SERVICES if each.asr is not None)
            raise ConfigError(f"--ears service: {service.title} recognises no speech; {fit} do")
        key, listed = self._key(service)
        model = self._model(service, listed)
        connection = service.connection() if key else {"base_url": service.base_url}
        section = {"name": "openai", **connection, "model": model, **service.options}
        if self._is_present(service):
            section = {**self._present, **section}
        answers.take("agent", section, service.title)
        if key:
            answers.env[service.key] = key
        return service

    def _service(self, *, speech: bool) -> Service | Choice | None:
        given = self._given.model
        if given == PHRASEBOOK:
            return None
        if given:
            return self._named(given)
        present = self._present_service()
        if not self._asking:
            return present
        return self._chosen(present, speech=speech)

    def _named(self, name: str) -> Service | Choice:
        if name.startswith(("http://", "https://")):
            return other(name)
        service = find(name) or next((each for each in AGENTS if each.name == name), None)
        if service is None:
            names = [each.name for each in SERVICES] + [each.name for each in AGENTS]
            known = ", ".join([PHRASEBOOK, *names])
            raise ConfigError(f"--model: there is no {name!r}; known: {known}, or an address")
        return service

    def _chosen(self, present: Service | None, *, speech: bool) -> Service | Choice | None:
        words = self._terminal.words
        services = [each for each in SERVICES if each.asr is not None or not speech]
        every: list[Service | Choice | None] = [*services]
        if not speech:
            every = [None, *services, *offered(AGENTS, self._language)]
        if present is _KEPT and not speech:
            every.append(_KEPT)
        titles = [self._title(each) for each in every]
        if not speech:
            titles.append(words("model.url"))
        default = every.index(present) if present in every else 0 if speech else len(every)
        index = self._terminal.choose(words("model"), titles, default)
        if index < len(every):
            return every[index]
        url = present.base_url if present is not None and present.name == OTHER else ""
        while True:
            typed = self._terminal.ask(words("model.address"), url)
            if typed.startswith(("http://", "https://")):
                return other(typed)
            self._terminal.say(words("model.no_address"))

    def _title(self, service: Service | Choice | None) -> str:
        words = self._terminal.words
        if isinstance(service, Choice):
            return words("model.vendor", title=words(f"vendor.{service.name}"))
        if service is None:
            known = covers(LANGUAGES, self._language)
            return words("model.phrasebook") + ("" if known else words("model.phrasebook.mute"))
        if service is _KEPT:
            return words("keep", name=self._present["name"])
        if service is not OLLAMA:
            return words("model.service", title=service.title)
        try:
            listed = self._trials.models(OLLAMA.base_url, "") or []
            state = words("model.ollama.there", count=len(listed))
        except ProviderError:
            state = words("model.ollama.absent", url=OLLAMA.base_url)
        return words("model.ollama", state=state)

    def _present_service(self) -> Service | None:
        """Return the service of the settings that are there; None: the phrase book, or none."""
        name = self._present.get("name", PHRASEBOOK)
        if name != "openai":
            return None if name == PHRASEBOOK else _KEPT
        url = str(self._present.get("base_url") or "")
        return next((each for each in SERVICES if each.base_url == url), None) or other(url)

    def _is_present(self, service: Service) -> bool:
        return self._present_service() == service

    def _key(self, service: Service) -> tuple[str, list[str] | None]:
        """Return a key that the service accepts, and the models that it lists, if it does."""
        words, terminal = self._terminal.words, self._terminal
        known = self._environment.get(service.key, "") if service.key else ""
        key = self._given.key or known
        while True:
            if self._asking and service.key and not self._given.key:
                question = words(
                    "key.kept" if known else "key", title=service.title, variable=service.key
                )
                key = terminal.ask(question, known, hidden=True)
            try:
                listed = self._trials.models(service.base_url, key)
            except ProviderError as error:
                if not self._asking or self._given.key:
                    raise ConfigError(f"{service.title}: {error}") from error
                if error.reason == "no_key":
                    terminal.say(words("key.refused", title=service.title))
                    known = ""
                    continue
                terminal.say(words("key.untried", error=" ".join(str(error).split())))
                if terminal.confirm(words("anyway"), default=False):
                    return key, None
                if not service.key:
                    raise ConfigError(f"{service.title}: {error}") from error
                continue
            if listed:
                told = words("key.works.models", title=service.title, count=len(listed))
            else:
                told = words("key.unknown" if listed is None else "key.works", title=service.title)
            terminal.say(told)
            return key, listed

    def _model(self, service: Service, listed: list[str] | None) -> str:
        words, terminal = self._terminal.words, self._terminal
        present = str(self._present.get("model", "")) if self._is_present(service) else ""
        default = present or service.model
        if listed and default not in listed and (service is OLLAMA or not default):
            default = listed[0]
        if self._given.model_name or not self._asking:
            model = self._given.model_name or default
        elif listed and len(listed) <= _MOST_LISTED and default in listed:
            return listed[terminal.choose(words("model.name"), listed, listed.index(default))]
        else:
            model = default = terminal.ask(words("model.name"), default)
        if not model:
            raise ConfigError("--model-name is missing: the server lists no models")
        if listed and model not in listed:
            terminal.say(words("model.unlisted", title=service.title, model=model))
        return model
