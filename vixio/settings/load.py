"""Loads the settings from a file; a mistake is one line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from vixio.core.errors import ConfigError
from vixio.settings.devices import inherit_providers
from vixio.settings.key_path import show_path
from vixio.settings.layer import LayerError, below, layer_file
from vixio.settings.mistakes import details, message, show
from vixio.settings.origin import Origin
from vixio.settings.sections import LoggingSettings, ServerSettings
from vixio.settings.settings import Settings
from vixio.settings.shown import hides

if TYPE_CHECKING:
    from vixio.settings.document import Document
    from vixio.settings.key_path import KeyPath


def load_settings(path: Path | None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from ``path``; None: the built-in default.

    ``environment`` (default: that of the process) has the values of ``${VAR}``. Raises ConfigError,
    one line: file and line, path of the key, what was expected and what was found.
    """
    return _made(*_read(path, environment))


def load_layered(
    path: Path | None,
    environment: Mapping[str, str] | None = None,
    *,
    layer: Path | None = None,
    warn: Callable[[str], None] | None = None,
) -> Settings:
    """Do as :func:`load_settings`, with what was changed in the browser below the settings file.

    ``layer``: the file with that; None: the one of the data folder. One with a mistake is left out,
    and ``warn`` gets a line about it; without ``warn``, LayerError is raised.
    """
    sections, document = _read(path, environment)
    file = layer or layer_file(sections)
    if file is None or not file.exists():
        return _made(sections, document)
    try:
        return _layered(sections, document, file, environment)
    except LayerError as error:
        own = _made(sections, document)  # a mistake of the settings file comes first
        if warn is None:
            raise
        warn(f"{error}; it is left out: mend it in the console, or remove the file")
        return own


def _read(
    path: Path | None, environment: Mapping[str, str] | None
) -> tuple[dict[str, Any], Document | None]:
    """Return the sections of a file, and the file; None: there is none. Raises ConfigError."""
    if path is None:
        return {}, None
    from vixio.settings.document import read_document  # imports yaml

    document = read_document(path, os.environ if environment is None else environment)
    data = {} if document.data is None else document.data
    if not isinstance(data, dict):
        raise _no_sections(document)
    # A section whose keys are all commented out is null in YAML; it counts as absent.
    return {
        key: value for key, value in data.items() if value is not None or key not in _SECTIONS
    }, document


def _made(sections: dict[str, Any], document: Document | None) -> Settings:
    if document is None:
        return Settings()
    try:
        sections = inherit_providers(sections)
        return _validate(sections, document).of_origin(document.origin())
    except ValidationError as error:
        raise _explain(error, sections, document) from None


def _layered(
    sections: Mapping[str, Any],
    document: Document | None,
    file: Path,
    environment: Mapping[str, str] | None,
) -> Settings:
    """Return the settings with ``file`` below them. Raises LayerError."""
    from vixio.settings.document import read_document

    try:
        own = read_document(file, os.environ if environment is None else environment)
    except ConfigError as error:
        found = re.fullmatch(
            r"(?:\d+: )?(?:([\w.\[\]-]+): )?(.+)", str(error).removeprefix(f"{file}:")
        )
        mistake = (found[1] or "", found[2]) if found else ("", str(error))
        raise LayerError(str(error), [mistake]) from None
    try:
        both, taken = below(sections, {} if own.data is None else own.data)
    except LayerError as error:
        raise LayerError(f"{file}: {error}", error.mistakes) from None
    used = {path for path in own.lines if path[:1] in taken or path[:2] in taken}
    lines = {path: line for path, line in own.lines.items() if path in used}
    texts = {path: text for path, text in own.texts.items() if path in used}
    above = Origin()
    if document is not None:
        above = document.origin()
        texts |= document.texts
    origin = replace(
        above,
        expanded=above.expanded | own.expanded,
        texts=above.texts | own.given,
        console=frozenset(used),
    )
    joint = replace(own, lines=lines, texts=texts)
    try:
        both = inherit_providers(both)
        return _validate(both, joint).of_origin(origin)
    except ValidationError as error:
        raise LayerError(
            str(_explain(error, both, joint)), list(_mistakes(error, both, own))
        ) from None


def _mistakes(
    error: ValidationError, data: dict[str, Any], layer: Document
) -> Iterator[tuple[str, str]]:
    """Yield all mistakes; values of variables and secrets are in none."""
    for each in details(error):
        place = each["loc"]
        words = message(each, data)
        if each["type"] not in ("missing", "extra_forbidden"):
            if any(path[: len(place)] == place[: len(path)] for path in layer.expanded):
                words = "the value of its environment variable is not valid here"
            elif any(isinstance(part, str) and hides(part, "", True) for part in place):
                words = "is not valid here"
        yield show_path(place), words


def override(
    settings: Settings,
    *,
    host: str | None = None,
    port: int | None = None,
    http_port: int | None = None,
    workers: str | int | None = None,
    log_level: str | None = None,
) -> Settings:
    """Return the settings with the options of the command line applied. Raises ConfigError."""
    server = {"host": host, "port": port, "http_port": http_port, "workers": workers}
    changed = {key: value for key, value in server.items() if value is not None}
    try:
        return settings.model_copy(
            update={
                "server": ServerSettings.model_validate(
                    # Only what was given: what is left out is a default, and shown as one.
                    {
                        name: getattr(settings.server, name)
                        for name in settings.server.model_fields_set
                    }
                    | changed
                ),
                "logging": LoggingSettings.model_validate(
                    settings.logging.model_dump(by_alias=True, exclude_unset=True)
                    | ({} if log_level is None else {"level": log_level})
                ),
            }
        )
    except ValidationError as error:
        first = next(details(error))
        place = ".".join(map(str, first["loc"])) or "server"
        raise ConfigError(f"command line: {place}: {message(first, {})}") from None


def _no_sections(document: Document) -> ConfigError:
    """Return the error of a file that holds something else. The text may be full of secrets."""
    path, data = document.path, document.data
    if path.name.startswith(".env"):
        return ConfigError(
            f"{path}: has environment variables, not settings: give the settings file; the .env "
            "beside it is read by itself"
        )
    found = "a text" if isinstance(data, str) else show(data)
    begins = any(re.match(rf"{name}\b", line) for line in document.source for name in _SECTIONS)
    return (begins and document.typo((), key=False)) or document.error(
        (), f"expected sections (`server:` …), found {found}; is it a settings file?"
    )


_SECTIONS = tuple(Settings.model_fields)


def _validate(data: dict[str, Any], document: Document) -> Settings:
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        # Where text is expected, a value that YAML converted becomes its text again.
        texts = [
            (place, document.texts[place])
            for detail in details(error)
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


def _explain(error: ValidationError, data: dict[str, Any], document: Document) -> ConfigError:
    mistakes = list(details(error))
    unknown = {each["loc"][:-1] for each in mistakes if each["type"] == "extra_forbidden"}
    # A key that is missing may be the one that is misspelt beside it.
    mistakes = [
        each for each in mistakes if each["type"] != "missing" or each["loc"][:-1] not in unknown
    ]
    first = min(mistakes, key=lambda each: document.lines.get(each["loc"], 0))
    place = first["loc"]
    is_key = first["type"] == "extra_forbidden"
    if first["type"] != "value_error" and (typo := document.typo(place, key=is_key)):
        return typo
    words = message(first, data)
    if len(mistakes) > 1:
        words += f" (and {len(mistakes) - 1} more)"
    return document.error(place, words)
