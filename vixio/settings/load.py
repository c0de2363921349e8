"""Loads the settings from a file; a mistake is one line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from vixio.core.errors import ConfigError
from vixio.settings.devices import inherit_providers
from vixio.settings.document import Document, KeyPath, read_document
from vixio.settings.schema import bounds, is_secret, suggest
from vixio.settings.sections import LoggingSettings, ServerSettings
from vixio.settings.settings import Settings

_SHOWN_CHARACTERS = 40
"""Of a wrong value, in an error."""


def load_settings(path: Path | None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from ``path``; None: the built-in default.

    ``environment`` (default: that of the process) has the values of ``${VAR}``. Raises ConfigError,
    one line: file and line, path of the key, what was expected and what was found.
    """
    if path is None:
        return Settings()
    document = read_document(path, os.environ if environment is None else environment)
    data = document.data
    if data is None:
        return Settings()
    if not isinstance(data, dict):
        raise document.error((), f"expected sections (`server:` …), found {_show(data)}")
    # A section whose keys are all commented out is null in YAML; it counts as absent.
    sections = {key: value for key, value in data.items() if value is not None}
    try:
        sections = inherit_providers(sections)
        return _validate(sections, document)
    except ValidationError as error:
        raise _explain(error, sections, document) from None


def override(
    settings: Settings,
    *,
    host: str | None = None,
    port: int | None = None,
    http_port: int | None = None,
    log_level: str | None = None,
) -> Settings:
    """Return the settings with the options of the command line applied. Raises ConfigError."""
    server = {"host": host, "port": port, "http_port": http_port}
    changed = {key: value for key, value in server.items() if value is not None}
    try:
        return settings.model_copy(
            update={
                "server": ServerSettings.model_validate(dict(settings.server) | changed),
                "logging": LoggingSettings.model_validate(
                    settings.logging.model_dump(by_alias=True)
                    | ({} if log_level is None else {"level": log_level})
                ),
            }
        )
    except ValidationError as error:
        first = next(_details(error))
        place = ".".join(map(str, first["loc"])) or "server"
        raise ConfigError(f"command line: {place}: {_message(first, {})}") from None


def _validate(data: dict[str, Any], document: Document) -> Settings:
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        # Where text is expected, a value that YAML converted becomes its text again.
        texts = [
            (place, document.texts[place])
            for detail in _details(error)
            if detail["type"] in {"string_type", "path_type"}
            for end in range(len(detail["loc"]), 0, -1)
            if (place := detail["loc"][:end]) in document.texts
        ]
        if not texts:
            raise
    for place, text in texts:
        _put(data, place, text)
    return Settings.model_validate(data)


def _put(data: Any, place: KeyPath, text: str) -> None:  # noqa: ANN401 - a tree of YAML values
    *above, last = place
    for key in above:
        data = data[key]
    data[last] = text


def _details(error: ValidationError, above: KeyPath = ()) -> Iterator[ErrorDetails]:
    """Return all mistakes with their whole paths; options of providers are validated separately."""
    for detail in error.errors(include_url=False):
        place: KeyPath = (*above, *detail["loc"])
        inner = detail.get("ctx", {}).get("error")
        if isinstance(inner, ValidationError):
            yield from _details(inner, place)
        else:
            yield {**detail, "loc": place}


def _explain(error: ValidationError, data: dict[str, Any], document: Document) -> ConfigError:
    details = list(_details(error))
    first = min(details, key=lambda detail: document.lines.get(detail["loc"], 0))
    message = _message(first, data)
    if len(details) > 1:
        message += f" (and {len(details) - 1} more)"
    return document.error(first["loc"], message)


def _message(detail: ErrorDetails, data: dict[str, Any]) -> str:
    place, found = detail["loc"], detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            return f"there is no such key{suggest(place, data)}"
        case "missing":
            return "is required"
        case "value_error":
            return detail["msg"].removeprefix("Value error, ")
        case "string_type":
            expected = "text"
        case "model_type" | "dict_type" | "model_attributes_type":
            expected = "a mapping (`key: value` lines)"
        case "list_type" | "tuple_type":
            expected = "a list"
        case "int_from_float":
            expected = "a whole number"
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            expected = f"a number {bounds(place, data)}"
        case "string_pattern_mismatch":
            expected = f"text of the form {detail['ctx']['pattern']}"
        case "string_too_short":
            expected = f"text of at least {detail['ctx']['min_length']} characters"
        case "path_type":
            expected = "a path"
        case _:
            expected = detail["msg"].removeprefix("Input should be ").partition(", unable")[0]
    return f"expected {expected}, found {'a secret' if is_secret(place, data) else _show(found)}"


def _show(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            shown = value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…"
            return repr(shown)
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return str(value)[:_SHOWN_CHARACTERS]
