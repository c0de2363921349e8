"""Languages of the settings that cannot be heard, understood or spoken, with what to do."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from vixio.core.errors import VixioError
from vixio.core.extras import Extra, checkout, how_to_install
from vixio.core.language_tags import covers, primary
from vixio.core.messages import has_catalogue
from vixio.providers import registry
from vixio.settings import Settings
from vixio.settings.provider import AgentSection, ASRSection, TTSSection

_log = logging.getLogger(__name__)

Speech = Literal["asr", "tts"]
Section = ASRSection | AgentSection | TTSSection

_SHIPPED: Final = {"asr": ("whisper", "funasr"), "tts": ("kokoro", "edge")}
"""Providers that need no settings and no account, the first one that fits is suggested."""

_COMPLETE: Final[dict[str, tuple[tuple[Extra, ...], str]]] = {
    "en": (("moonshine", "joe"), "config/natural.yaml"),
    "zh": (("whisper", "kokoro"), "config/natural-zh.yaml"),
}
"""By language, the extras and the settings file of a set that hears and speaks it."""

_READ: Final = "docs/speech.md#ears-and-voices"
_MOST_NAMED: Final = 6


@dataclass(frozen=True, slots=True)
class LanguageGap:
    """What does not fit the language of the assistant, or of a device: one line for people."""

    language: str
    fact: str
    advice: str

    def __str__(self) -> str:
        return f"{self.fact}: {self.advice}"


def profiles(settings: Settings) -> Iterator[tuple[str, Settings]]:
    """Return the settings, and those that each device section makes, with the place of its keys."""
    yield "", settings
    for key, device in settings.devices.items():
        language = device.language or settings.assistant.language
        assistant = settings.assistant.model_copy(update={"language": language})
        changed = {**dict(device.providers()), "assistant": assistant}
        yield f"devices.{key}.", settings.model_copy(update=changed)


def gaps(settings: Settings) -> Iterator[LanguageGap]:
    """Yield each gap once. Blocking: descriptions of models are read."""
    seen: set[LanguageGap] = set()
    for _, each in profiles(settings):
        for gap in (hearing(each), understanding(each), speaking(each), messages(each)):
            if gap is not None and gap not in seen:
                seen.add(gap)
                yield gap


def log_gaps(settings: Settings) -> None:
    """Write a warning to the log for each gap. Blocking."""
    for gap in gaps(settings):
        fields = {"language": gap.language, "reason": gap.fact, "advice": gap.advice}
        _log.warning("the configuration does not fit the language", extra=fields)


def hearing(settings: Settings) -> LanguageGap | None:
    """Return the gap if no recogniser hears the language; None if one does, or may."""
    return _speech_gap("asr", "hears", settings.asr, settings.assistant.language)


def understanding(settings: Settings) -> LanguageGap | None:
    """Return the gap if the agent knows nothing of the language; None if it does, or may."""
    return _understood(settings.agent, settings.assistant.language, "so it can only apologise")


def understood_without_models(settings: Settings) -> LanguageGap | None:
    """Return the gap of the phrase book in a list, whose models understand the language."""
    for entry in getattr(settings.agent.options, "models", ()):
        alone = {"name": entry.name, "options": entry.options}
        section = settings.agent.model_copy(update=alone)
        if gap := _understood(section, settings.assistant.language, "so it cannot stand in"):
            return gap
    return None


def speaking(settings: Settings) -> LanguageGap | None:
    """Return the gap if no voice speaks the language; None if one does, or may."""
    return _speech_gap("tts", "speaks", settings.tts, settings.assistant.language)


def messages(settings: Settings) -> LanguageGap | None:
    """Return the gap if the assistant has no words of its own in the language."""
    language, folder = settings.assistant.language, settings.assistant.messages
    if has_catalogue(language, Path(folder) if folder else None):
        return None
    return LanguageGap(
        language,
        f"there is no catalogue of messages in {language}, English ones are used",
        f"add {primary(language)}.po to a folder that assistant.messages names (docs/speech.md)",
    )


def known_languages(section: Section) -> frozenset[str] | None:
    """Return what the providers of a section hear, understand or speak together.

    None if that is unknown of one of them. Blocking: descriptions of models are read.
    """
    found: set[str] = set()
    for each in section.each():
        try:
            tags = registry.resolve(each.kind, each.name).languages(each.options)
        except Exception as error:  # noqa: BLE001 - another package's code, and files that are not there; the provider itself reports them
            _log.debug("languages unknown", extra={"provider": each.name, "error": repr(error)})
            return None
        if tags is None:
            return None
        found.update(map(primary, tags))
    return frozenset(found)


def listed(tags: Collection[str]) -> str:
    """Return languages in a few words."""
    shown = ", ".join(sorted(tags)[:_MOST_NAMED])
    more = len(tags) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def names(section: Section) -> str:
    """Return the names of the providers of a section that do the work."""
    return " and ".join(dict.fromkeys(part.name for _, part in section.parts()))


def _understood(section: AgentSection, language: str, without: str) -> LanguageGap | None:
    """Return the gap of an agent; ``without``: what it can do nevertheless."""
    tags = known_languages(section)
    if tags is None or covers(tags, language):
        return None
    ways = [*_own_option(section, language), "set `agent` to a language model (`vixio setup`)"]
    fact = f"{names(section)} understands {listed(tags)}, not {language}, {without}"
    return LanguageGap(language, fact, ", or ".join(ways))


def _speech_gap(
    kind: Speech, does: str, section: ASRSection | TTSSection, language: str
) -> LanguageGap | None:
    tags = known_languages(section)
    if tags is None or covers(tags, language):
        return None
    fact = f"{names(section)} {does} {listed(tags)}, not {language}"
    ways = [*_own_option(section, language), *_ways(kind, language)]
    if ways:
        ways.append(f"`vixio setup --language {primary(language)}`")
    wanted = {"asr": "a recogniser", "tts": "a voice"}[kind]
    advice = ", or ".join(ways) or f"set `{kind}` to {wanted} that knows {language}"
    return LanguageGap(language, fact, f"{advice} ({_READ})")


def _own_option(section: Section, language: str) -> Iterator[str]:
    """Yield to set the provider's own language, where that is what keeps it from hearing."""
    for place, part in section.parts():
        field = type(part.options).model_fields.get("language")
        if field is None or "language" not in part.options.model_fields_set:
            continue
        free = part.options.model_copy(update={"language": field.get_default()})
        tags = known_languages(part.model_copy(update={"options": free}))
        if tags is None or covers(tags, language):
            yield f"remove {section.kind}{place}.language or set assistant.language alike"


def _ways(kind: Speech, language: str) -> Iterator[str]:
    """Yield commands and settings that bring what is missing."""
    root = checkout()
    extras, file = _COMPLETE.get(primary(language), ((), ""))
    if root is not None and file and (root / file).is_file():
        place = file if Path(file).is_file() else shlex.quote(str(root / file))
        yield f"`{how_to_install(*extras)}` and `vixio serve --config {place}`"
    else:
        yield from _providers(kind, language)
    yield from _models(kind, language)


def _providers(kind: Speech, language: str) -> Iterator[str]:
    for name in _SHIPPED[kind]:
        try:
            factory = registry.resolve(kind, name)
            tags = factory.languages(factory.settings_model())
        except VixioError:  # its package is not installed
            continue
        if tags is not None and covers(tags, language):
            extra = next(each for each in get_args(Extra) if each == name)
            yield f"`{how_to_install(extra)}` and `{kind}: {{name: {name}}}`"
            return


def _models(kind: Speech, language: str) -> Iterator[str]:
    """Yield the first model that can be downloaded, rather one that is made for the language."""
    from vixio.providers.downloads.catalogue import load_catalogue

    models = [
        (not covers(model.languages[:1], language), number, name)
        for number, (name, model) in enumerate(load_catalogue().items())
        if model.kind == kind and covers(model.languages, language)
    ]
    if models:
        yield f"`vixio models get {min(models)[2]}`"
