"""What a program gives for a device, read as a settings file's section of that device.

The values of environment variables never stand in a message: whoever may write profiles need not
know them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from vixio.core.errors import ConfigError
from vixio.settings.context import public_only
from vixio.settings.devices import PROVIDERS, DeviceSection, inherit_providers
from vixio.settings.key_path import KeyPath, show_path
from vixio.settings.mistakes import details, message
from vixio.settings.settings import Settings
from vixio.settings.variables import expanded

MAX_MISTAKES: Final = 100

_DEVICE = "profile"
"""The key of the device; it is not shown."""

_ABOUT_KEYS: Final = ("missing", "extra_forbidden")
"""Types of errors whose messages hold no values."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong at a place of a profile's content, in one line. ``path``: ``asr.model``."""

    path: str
    message: str

    def error(self) -> ConfigError:
        """Return it as an error."""
        return ConfigError(": ".join(filter(None, ("profile", self.path, self.message))))


def device_section(settings: Settings, given: Mapping[str, Any]) -> DeviceSection:
    """Return the section of a device that has the keys ``given`` in the file of ``settings``.

    So it inherits the same options, and equals a section of the file with the same keys. Raises
    ConfigError, one line.
    """
    section, mistakes = _read(settings, given, given)
    if section is None:
        raise mistakes[0].error()
    return section


def stored_section(
    settings: Settings, content: Mapping[str, Any], environment: Mapping[str, str]
) -> DeviceSection:
    """Return :func:`device_section` of a stored profile, whose texts may name variables."""
    unset: dict[str, Mistake] = {}
    data = _expanded(content, environment, (), unset)
    for mistake in unset.values():
        raise mistake.error()
    section, mistakes = _read(settings, data, content)
    if section is None:
        raise mistakes[0].error()
    return section


def profile_mistakes(
    settings: Settings, content: Mapping[str, Any], environment: Mapping[str, str]
) -> Sequence[Mistake]:
    """Return all for which :func:`stored_section` would refuse a profile, one for each place."""
    found: dict[str, Mistake] = {}
    data = _expanded(content, environment, (), found)
    _, mistakes = _read(settings, data, content)
    for mistake in mistakes:
        found.setdefault(mistake.path, mistake)
    return list(found.values())[:MAX_MISTAKES]


def _read(
    settings: Settings, given: Mapping[str, Any], written: Mapping[str, Any]
) -> tuple[DeviceSection | None, Sequence[Mistake]]:
    """Return the section, or None and what is wrong. ``written``: ``given`` with its variables."""
    general = {kind: getattr(settings, kind).given() for kind in PROVIDERS if kind in given}
    data = {**general, "devices": {_DEVICE: given}}
    above: KeyPath = ()
    try:
        data = inherit_providers(data)
        above = ("devices", _DEVICE)
        section = DeviceSection.model_validate(data["devices"][_DEVICE])
        section = section.within(settings.timeouts)
        if section.context is not None:  # an operator's stands in the settings file
            section = section.model_copy(update={"context": public_only(section.context)})
        return section, ()
    except ValidationError as error:
        return None, [_explained(each, data, written) for each in details(error, above)]


def _explained(
    mistake: ErrorDetails, data: Mapping[str, Any], written: Mapping[str, Any]
) -> Mistake:
    place = tuple(mistake["loc"][2:])
    if mistake["type"] not in _ABOUT_KEYS and _names_variables(written, place):
        return Mistake(show_path(place), "the value of its environment variable is not valid here")
    return Mistake(show_path(place), message(mistake, data))


def _names_variables(written: Any, place: KeyPath) -> bool:  # noqa: ANN401 - JSON
    """Whether the value at ``place``, or the last one on the way to it, refers to a variable."""
    for part in place:
        if isinstance(written, Mapping) and part in written:
            written = written[str(part)]
        elif isinstance(written, list | tuple) and isinstance(part, int) and part < len(written):
            written = written[part]
        else:
            break
    return _refers(written)


def _refers(value: Any) -> bool:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        return any(map(_refers, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_refers, value))
    return isinstance(value, str) and "${" in value


def _expanded(
    value: Any,  # noqa: ANN401 - JSON
    environment: Mapping[str, str],
    place: KeyPath,
    unset: dict[str, Mistake],
) -> Any:  # noqa: ANN401 - JSON
    """Return ``value`` with its variables expanded; ``unset`` gets what cannot be."""
    if isinstance(value, Mapping):
        return {
            key: _expanded(each, environment, (*place, key), unset) for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_expanded(each, environment, (*place, n), unset) for n, each in enumerate(value)]
    if not isinstance(value, str):
        return value
    try:
        return expanded(value, environment, ConfigError, _remedy)
    except ConfigError as error:
        unset[show_path(place)] = Mistake(show_path(place), str(error))
        return value


_remedy: Callable[[str], str] = "set it, or write ${{{0}:default}}".format
