"""The section ``assistant``, and what of it can differ for a device.

That is declared once, in the fields of :class:`~vixio.core.device.DeviceProfile` that have a
:class:`~vixio.core.device.Setting`: both models of the settings follow from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import reduce
from operator import or_
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Final, cast, get_args, get_type_hints
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    WithJsonSchema,
    create_model,
    field_validator,
)
from pydantic_core import PydanticKnownError

from vixio.core.device import DeviceProfile, Setting
from vixio.core.errors import ConfigError
from vixio.core.greetings import OTHERS, WakeGreetings
from vixio.core.instructions import DEFAULT_INSTRUCTIONS
from vixio.core.messages import check_folder
from vixio.core.moment import NO_CONTEXT, ContextSources
from vixio.core.replacements import MAX_CHARS, MAX_PAIRS, Replacements
from vixio.core.roles import MAX_ROLES, Roles
from vixio.core.whole_phrases import bare
from vixio.providers.faults import fault
from vixio.settings.context import READ_CONTEXT
from vixio.settings.sections import Section

_TEXTS = TypeAdapter(tuple[str, ...])
_TEXTS_BY_WORD = TypeAdapter(dict[str, tuple[str, ...]])
_TEXT_BY_WORD = TypeAdapter(dict[str, str])


def _greetings(value: object) -> object:
    """Return one text as it is, several as WakeGreetings."""
    if isinstance(value, str | WakeGreetings):
        return value
    if isinstance(value, list | tuple):
        return WakeGreetings.of(_TEXTS.validate_python(value))
    if not isinstance(value, Mapping):
        raise PydanticKnownError("string_type")
    for word, texts in value.items():
        if isinstance(texts, Mapping) or texts is None:
            raise fault("expected a text or a list of texts", str(word))
        if word != OTHERS and not bare(str(word)):
            raise fault(f'expected a wake word, or "{OTHERS}" for all others', str(word))
    listed = {
        word: texts if isinstance(texts, list | tuple) else [texts] for word, texts in value.items()
    }
    return WakeGreetings.of(_TEXTS_BY_WORD.validate_python(listed))


def _roles(value: object) -> object:
    if isinstance(value, Roles):
        return value
    if isinstance(value, list | tuple):
        return Roles.of(_TEXTS.validate_python(value))
    named = value if isinstance(value, Mapping) else _TEXTS_BY_WORD.validate_python(value)
    listed = {
        name: texts if isinstance(texts, list | tuple) else [texts or ""]
        for name, texts in named.items()
    }
    return Roles.of(_TEXTS_BY_WORD.validate_python(listed))


def _replacements(value: object) -> object:
    if isinstance(value, Replacements):
        return value
    return Replacements.of(_TEXT_BY_WORD.validate_python(value))


_READ: Final[Mapping[object, object]] = {
    str | WakeGreetings: Annotated[str | WakeGreetings, BeforeValidator(_greetings)],
    ContextSources: READ_CONTEXT,
    Roles: Annotated[
        Roles,
        BeforeValidator(_roles),
        WithJsonSchema(
            {
                "type": "object",
                "additionalProperties": {
                    "anyOf": [
                        {"type": "string"},
                        {"type": "array", "items": {"type": "string"}},
                    ]
                },
                "maxProperties": MAX_ROLES,
            }
        ),
    ],
    Replacements: Annotated[
        Replacements,
        BeforeValidator(_replacements),
        WithJsonSchema(
            {
                "type": "object",
                "additionalProperties": {"type": "string", "minLength": 1, "maxLength": MAX_CHARS},
                "propertyNames": {"minLength": 1, "maxLength": MAX_CHARS},
                "maxProperties": MAX_PAIRS,
            }
        ),
    ],
}
"""How types are read that a file writes in several forms."""


@dataclass(frozen=True, slots=True)
class ProfileKey:
    """A setting that can differ for a device.

    ``field``: of the profile. ``key``: for a device and in a stored profile. ``of_all``: in the
    section ``assistant``. ``annotation``: of a value, for pydantic.
    """

    field: str
    key: str
    of_all: str
    setting: Setting
    annotation: Any


def _profile_keys() -> tuple[ProfileKey, ...]:
    hints = get_type_hints(DeviceProfile, include_extras=True)
    found = []
    for name in (each.name for each in fields(DeviceProfile)):
        for setting in getattr(hints[name], "__metadata__", ()):
            if isinstance(setting, Setting):
                key, of_all = setting.key or name, setting.of_all or setting.key or name
                annotation = _annotation(hints[name].__origin__, setting)
                found.append(ProfileKey(name, key, of_all, setting, annotation))
    return tuple(found)


def _annotation(declared: Any, setting: Setting) -> Any:  # noqa: ANN401 - a type
    if setting.default is not None and NoneType in (parts := get_args(declared)):
        declared = reduce(or_, (each for each in parts if each is not NoneType))
    annotation = _READ.get(declared, declared)
    if setting.check is not None:
        return Annotated[annotation, AfterValidator(_checked(setting.check))]
    return annotation


def _checked(check: Callable[[Any], None]) -> Callable[[Any], Any]:
    def checked(value: object) -> object:
        check(value)
        return value

    return checked


PROFILE_KEYS: Final = _profile_keys()


def _model(name: str, **fields: tuple[Any, Any]) -> Any:  # noqa: ANN401 - its fields are not known here
    return create_model(name, __base__=Section, __module__=__name__, **cast("Any", fields))


if TYPE_CHECKING:

    class ForAllDevices(Section):
        """The keys that more than a profile is made from, for the type checker."""

        language: str = "en"
        instructions: str = DEFAULT_INSTRUCTIONS
        place: str = ""
        user_name: str = ""
        wake_reply: str | WakeGreetings = ""
        pronunciations: Replacements = Replacements()
        corrections: Replacements = Replacements()
        keep_sound_days: int = 0
        context: ContextSources = NO_CONTEXT

    class ForOneDevice(Section):
        """Likewise. None: as for all devices."""

        language: str | None = None
        context: ContextSources | None = None

else:
    ForAllDevices = _model(
        "ForAllDevices",
        **{
            each.of_all: (
                each.annotation,
                Field(default=each.setting.default, description=each.setting.about),
            )
            for each in PROFILE_KEYS
        },
    )
    ForOneDevice = _model(
        "ForOneDevice",
        **{
            each.key: (
                each.annotation | None,
                Field(default=None, description=each.setting.about),
            )
            for each in PROFILE_KEYS
        },
    )


class AssistantSettings(ForAllDevices):
    """The assistant: its language, instructions and memory of a conversation."""

    time_zone: str = ""
    """IANA name, such as Europe/Berlin; empty: that of the machine."""
    wake_words: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Besides those of the firmware's models."""
    filler_after: float = Field(default=2.0, ge=0, le=60, allow_inf_nan=False)
    """Seconds without an answer after which a few words are said, and again in a speech that falls
    silent; 0: never."""
    messages: str = ""
    """Folder of catalogues for what the assistant says by itself, over the packaged ones."""
    history_turns: int = Field(default=20, ge=1, le=1_000)
    history_tokens: int = Field(default=6_000, ge=100, le=1_000_000)
    """Approximate; counted by ``vixio.core.history.approximate_tokens``."""
    max_devices_remembered: int = Field(default=10_000, ge=1, le=10_000_000)

    @field_validator("messages")
    @classmethod
    def _catalogues(cls, value: str) -> str:
        if value:
            try:
                check_folder(Path(value))
            except ConfigError as error:
                raise ValueError(str(error)) from None
        return value

    @field_validator("time_zone")
    @classmethod
    def _zone(cls, value: str) -> str:
        try:
            if value:
                ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # "../x", a directory
            raise ValueError(
                f"expected a time zone such as Europe/Berlin, found {value!r}"
            ) from error
        return value

    def of_profile(self) -> dict[str, Any]:
        """Return what holds for all devices, by the fields of a profile."""
        return {each.field: getattr(self, each.of_all) for each in PROFILE_KEYS}

    def by_key(self) -> dict[str, Any]:
        """Return what holds for all devices, by the keys of a device."""
        return {each.key: getattr(self, each.of_all) for each in PROFILE_KEYS}
