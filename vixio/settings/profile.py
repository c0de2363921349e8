"""What a program gives for a device, read as a settings file's section of that device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from vixio.core.errors import ConfigError
from vixio.settings.devices import PROVIDERS, DeviceSection, inherit_providers
from vixio.settings.key_path import KeyPath, show_path
from vixio.settings.mistakes import details, message
from vixio.settings.settings import Settings
from vixio.settings.variables import expanded

_DEVICE = "profile"
"""The key of the device; it is not shown."""


def device_section(settings: Settings, given: Mapping[str, Any]) -> DeviceSection:
    """Return the section of a device that has the keys ``given`` in the file of ``settings``.

    So it inherits the same options, and equals a section of the file with the same keys. Raises
    ConfigError, one line.
    """
    general = {kind: getattr(settings, kind).given() for kind in PROVIDERS if kind in given}
    data = {**general, "devices": {_DEVICE: given}}
    above = ("devices", _DEVICE)
    try:
        data = inherit_providers(data)
    except ValidationError as error:
        raise _explained(error, data, ()) from None
    try:
        section = DeviceSection.model_validate(data["devices"][_DEVICE])
        return section.within(settings.timeouts)
    except ValidationError as error:
        raise _explained(error, data, above) from None


def stored_section(
    settings: Settings, content: Mapping[str, Any], environment: Mapping[str, str]
) -> DeviceSection:
    """Return :func:`device_section` of a stored profile, whose texts may name variables."""
    return device_section(settings, _expanded(content, environment, ()))


def _expanded(value: Any, environment: Mapping[str, str], place: KeyPath) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        return {key: _expanded(each, environment, (*place, key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_expanded(each, environment, (*place, n)) for n, each in enumerate(value)]
    if not isinstance(value, str):
        return value

    def error(message: str) -> ConfigError:
        return ConfigError(f"profile: {show_path(place)}: {message}")

    return expanded(value, environment, error, lambda name: f"set it, or write ${{{name}:default}}")


def _explained(
    error: ValidationError, data: Mapping[str, Any], above: tuple[str, ...]
) -> ConfigError:
    mistake = next(details(error, above))
    _, _, *place = mistake["loc"]
    return ConfigError(f"profile: {show_path(tuple(place))}: {message(mistake, data)}")
