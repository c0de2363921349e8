"""Answers questions about the settings' models: valid keys, secrets, ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, SecretStr

from vixio.core.errors import VixioError
from vixio.providers import registry
from vixio.settings.key_path import KeyPath, show_path
from vixio.settings.provider import ProviderSection
from vixio.settings.settings import Settings
from vixio.settings.station import StationSection
from vixio.settings.tool_source import ToolSourceSection

_SECRET_WORDS = ("secret", "password", "token", "api_key", "apikey", "authorization")

MOVED: Mapping[KeyPath, str] = {
    ("assistant", "devices"): "the section `devices`, with the same keys",
    ("tools", "devices"): "the section `devices`: write {tools: {allow: […], deny: […]}} there",
}
"""Keys of earlier versions, and their new places."""


def fields(model: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of ``model`` by their names in a file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def submodel(annotation: object) -> type[BaseModel] | None:
    """Return the model in ``annotation`` (itself or a part of a union), if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(submodel, get_args(annotation))), None)


def provider_options(section: type[ProviderSection], data: object) -> type[BaseModel]:
    """Return the model of the options that belong to the provider named in ``data``.

    Raises ConfigError or ProviderUnavailable as the registry does.
    """
    name = data.get("name") if isinstance(data, Mapping) else None
    name = name if isinstance(name, str) else section.default_name
    return registry.resolve(section.kind, name).settings_model


def keys_at(path: KeyPath, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the valid fields of the mapping at ``path`` of ``data``, by key."""
    known = fields(Settings)
    place: Any = data
    element: type[BaseModel] | None = None
    for part in path:
        place = _part(place, part)
        if element is not None:  # of a list, or of a mapping with keys of the user
            known, element = _keys_of(element, place), None
            continue
        field = known.get(str(part))
        annotation: Any = field.annotation if field is not None else None
        model = submodel(annotation)
        if model is None:
            return {}
        if _is_list_of(model, place) or get_origin(annotation) in (dict, list, tuple):
            known, element = {}, model
        else:
            known = _keys_of(model, place)
    return known


def _is_list_of(model: type[BaseModel], place: object) -> bool:
    return issubclass(model, ProviderSection) and isinstance(place, list)


def _keys_of(model: type[BaseModel], place: object) -> dict[str, Any]:
    if issubclass(model, ProviderSection):
        options = provider_options(model, place)
    elif issubclass(model, StationSection | ToolSourceSection):
        return model.keys_of(place)
    elif (choose := getattr(model, "options_for", None)) is not None:
        options = choose(place)  # a list of providers within a provider's options
    else:
        return fields(model)
    return {"name": ProviderSection.model_fields["name"], **fields(options)}


def _part(place: object, part: str | int) -> object:
    if isinstance(place, Mapping):
        return place.get(part)
    if isinstance(place, list) and isinstance(part, int) and part < len(place):
        return place[part]
    return None


def is_secret(path: KeyPath, data: Mapping[str, Any]) -> bool:
    """Whether the value at ``path`` is secret: by its type, or by its name if it may be text."""
    for end in range(len(path), 0, -1):
        key = str(path[end - 1])
        if _holds_secret(key, keys_at(path[: end - 1], data).get(key)):
            return True
    return False


def secret_options(model: type[BaseModel]) -> set[str]:
    """Return the keys of ``model`` whose values are secret."""
    return {key for key, field in fields(model).items() if _holds_secret(key, field)}


def _holds_secret(key: str, field: Any) -> bool:  # noqa: ANN401 - pydantic's FieldInfo
    if field is not None and _mentions(field.annotation, SecretStr):
        return True
    may_be_text = field is None or _mentions(field.annotation, str)
    return may_be_text and any(word in key.lower() for word in _SECRET_WORDS)


def bounds(path: KeyPath, data: Mapping[str, Any]) -> str:
    """Return the range of the number at ``path``: ``from 1 to 10``, ``above 0``."""
    field = keys_at(path[:-1], data).get(str(path[-1]))
    words: list[str] = []
    inclusive = False
    for limit in _limits(field) if field is not None else ():
        match limit:
            case Ge(ge=value):
                inclusive = True
                words.append(f"from {value}")
            case Gt(gt=value):
                words.append(f"above {value}")
            case Le(le=value):
                words.append(f"{'to' if inclusive else 'and up to' if words else 'up to'} {value}")
            case Lt(lt=value):
                words.append(f"and below {value}" if words else f"below {value}")
    return " ".join(words) or "in its range"


def _limits(field: Any) -> Iterator[object]:  # noqa: ANN401 - pydantic's FieldInfo
    """Yield the limits of a number, also of one that may be None."""
    yield from field.metadata
    for each in get_args(field.annotation):
        for given in getattr(each, "__metadata__", ()):
            yield from getattr(given, "metadata", (given,))


def suggest(path: KeyPath, data: Mapping[str, Any]) -> str:
    """Return ``, did you mean …?`` for an unknown key, or the keys that are known there."""
    if path in MOVED:
        return f" any more: it has moved to {MOVED[path]}"
    *above, last = path
    known = keys_at(tuple(above), data)
    if close := get_close_matches(str(last).lower(), known, n=1):
        return f", did you mean {close[0]!r}?"
    if owners := _owners(path, data):
        section = show_path(tuple(above))
        return f" of {section} as long as {section}.name is not set ({owners})"
    if above and last in Settings.model_fields:
        return f": {last!r} is a section, which is not indented"
    for place in _own_keys(Settings, ()) if _provider_section(path) is None else ():
        if place[-1] == last:
            shown = show_path(place)
            where = "" if above else f" Indent it below `{shown.partition('.')[0]}:`"
            return f", did you mean {shown!r}?{where}"
    return f" (known here: {', '.join(known)})" if known else ""


def _provider_section(path: KeyPath) -> type[ProviderSection] | None:
    """Return the section of which ``path`` is an option; None if that is not one of a provider."""
    section = Settings.model_fields.get(str(path[0]))
    model = submodel(section.annotation) if section is not None else None
    if len(path) != 2 or model is None or not issubclass(model, ProviderSection):
        return None
    return model


def _owners(path: KeyPath, data: Mapping[str, Any]) -> str:
    """Return which providers have the option at ``path``, for a section that names none."""
    if (model := _provider_section(path)) is None:
        return ""
    given = data.get(str(path[0]))
    if not isinstance(given, Mapping) or "name" in given:
        return ""
    owners = [
        name
        for kind, name in sorted(registry.builtin_names())
        if kind == model.kind and path[1] in _options_of(kind, name)
    ]
    last = owners.pop() if len(owners) > 1 else ""
    shown = ", ".join(owners) + (f" and {last}" if last else "")
    return f"{shown} {'have' if last else 'has'} it" if owners else ""


def _options_of(kind: registry.ProviderKind, name: str) -> dict[str, Any]:
    try:
        return fields(registry.resolve(kind, name).settings_model)
    except VixioError:  # its package is not installed
        return {}


def _own_keys(model: type[BaseModel], above: KeyPath) -> list[KeyPath]:
    places: list[KeyPath] = []
    for key, field in fields(model).items():
        places.append((*above, key))
        inner = submodel(field.annotation)
        if inner is not None and not issubclass(inner, ProviderSection):
            places.extend(_own_keys(inner, (*above, key)))
    return places


def _mentions(annotation: object, wanted: type) -> bool:
    return annotation is wanted or any(_mentions(part, wanted) for part in get_args(annotation))
