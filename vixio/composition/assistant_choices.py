"""What the guide in the browser can offer: the tables of `vixio setup`, for this machine."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from vixio.cli.setup.choices import EARS, VOICES, Choice
from vixio.cli.setup.interview import LANGUAGES
from vixio.cli.setup.pace import LIMIT_S, PAUSE_S, Pace, pace_here
from vixio.cli.setup.ready import LIBRARIES
from vixio.cli.setup.services import SERVICES, Service
from vixio.composition.assistant_install import is_installed, remedy
from vixio.core.extras import Extra, how_to_install
from vixio.core.language_tags import covers
from vixio.language.phrasebook import LANGUAGES as PHRASES
from vixio.web.api.assistant_settings import Choices, KnownTag, PartChoice, ServiceChoice

HOME_ASSISTANT: Final = "http://homeassistant.local:8123"


@cache
def _pace() -> Pace:
    return pace_here()


_LIBRARIES: Final[Mapping[str, tuple[Extra, str]]] = {
    **{name: ("ready", module) for name, module in LIBRARIES.items()},
    "media": ("media", "miniaudio"),
}


def choices(language: str, key_known: Callable[[str], bool], *, programs: bool) -> Choices:
    """Return what suits a language. ``key_known``: of a base_url; ``programs``: of ``api``.

    Blocking: files are read.
    """
    importlib.invalidate_caches()  # what was installed by another process is found
    pace = _pace()
    ears, voices = ([each for each in every if each.suits(language)] for every in (EARS, VOICES))
    heard = ears[pace.preferred(ears)]
    return Choices(
        language=language,
        languages=[KnownTag(tag=tag, name=name) for tag, name in LANGUAGES],
        pause_s=PAUSE_S,
        limit_s=LIMIT_S,
        ears=[_part(each, pace) for each in ears],
        voices=[_part(each, pace) for each in voices],
        services=[_service(each, key_known) for each in SERVICES],
        phrasebook=covers(PHRASES, language),
        preferred={"asr": heard.name, "tts": voices[pace.preferred(voices, heard)].name},
        home_assistant={"url": HOME_ASSISTANT},
        missing={
            name: how_to_install(extra)
            for name, (extra, module) in _LIBRARIES.items()
            if find_spec(module) is None
        },
        programs=programs,
    )


def _part(choice: Choice, pace: Pace) -> PartChoice:
    todo = remedy(choice)
    return PartChoice(
        name=choice.name,
        section=choice.section,
        wait_s=round(pace.wait(choice), 2),
        installed=is_installed(choice),
        can_install=not todo,
        remedy=todo,
    )


def _service(service: Service, key_known: Callable[[str], bool]) -> ServiceChoice:
    connection = {"name": "openai"}
    if service.base_url:
        connection["base_url"] = service.base_url

    def speech(options: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return None if options is None else {**connection, **options}

    return ServiceChoice(
        name=service.name,
        title=service.title,
        base_url=service.base_url,
        needs_key=bool(service.key),
        key_known=bool(service.key) and key_known(service.base_url),
        model=service.model,
        agent={**connection, **service.options},
        asr=speech(service.asr),
        tts=speech(service.tts),
    )
