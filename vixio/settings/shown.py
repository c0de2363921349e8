"""The settings in force as JSON, without secrets: for an operator who is not at the machine.

A value is masked by its type, by its key, and where an environment variable gave it; of addresses
and other texts, what may be a password. In doubt it is masked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath
from typing import Any, Final

from pydantic import BaseModel, SecretBytes, SecretStr

from vixio.core.greetings import WakeGreetings
from vixio.core.moment import ContextSources
from vixio.core.replacements import Replacements
from vixio.core.roles import Roles
from vixio.settings.key_path import KeyPath, show_path
from vixio.settings.origin import Origin
from vixio.settings.provider import ProviderSection
from vixio.settings.settings import Settings

MASK: Final = "***"

FREE: Final = frozenset(
    {
        "args", "auth", "body", "constants", "cookies", "data", "env", "environment",
        "extra_args", "extra_body", "extra_headers", "extra_query", "headers", "login", "params",
    }
)  # fmt: skip
"""Keys below which anything may be a secret: nothing of it is shown, but names."""

_SECRET: Final = re.compile(
    r"secret|password|passwd|passphrase|token|api_?key|apikey|authorization|credential|cookie|"
    r"private|(^|[_-])(key|pass|pwd|pin|auth)s?$",
    re.IGNORECASE,
)
_COUNT: Final = re.compile("token", re.IGNORECASE)
"""Numbers of such a name are of tokens of a language model, or of time."""

_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*:)?//[^\s\"'<>]+", re.IGNORECASE)
_IN_TEXT: Final = re.compile(
    r"""\b(?:bearer|basic)\s+\S+
    | --?[\w-]*(?:secret|passw|token|key|pwd|auth)[\w-]*[\s=:]+\S+
    | [\w-]*(?:secret|passw|token|api_?key|pwd)[\w-]*["']?\s*[=:]\s*(?:"[^"]*"|'[^']*'|\S+)
    | \b(?:sk|pk|gh[a-z]|xox[a-z]|vixio_pat|vixio_ses)[-_][\w-]{8,}
    | (?![a-z0-9+.-]*://\*\*\*@)[^\s/]*:\S*@(?=\S)
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What may be a secret in a text: a header, an option of a command, an assignment, a token by its
beginning, a user with a password."""

_PROSE: Final = frozenset({"instructions", "wake_reply", "exit_phrases", "prompt"})
"""Keys of texts for people or models: what stands there is meant to be said."""

_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::[^}]*)?\}")


@dataclass(frozen=True, slots=True)
class ShownSettings:
    """``values``: as in a file, with all defaults. ``sources``: by key path, where it is not a
    default: ``file``, ``console``, ``environment`` or ``program``, which is the command line too.
    ``file``: the path of the file; empty: there is none."""

    values: dict[str, Any]
    sources: dict[str, str] = field(default_factory=dict)
    file: str = ""


def shown(settings: Settings) -> ShownSettings:
    """Return what may be shown. Blocking for some milliseconds."""
    writer = _Writer(settings.origin)
    values = {
        name: writer.value(
            getattr(settings, name), (name,), given=name in settings.model_fields_set
        )
        for name in type(settings).model_fields
    }
    return ShownSettings(values, writer.sources, settings.origin.file)


def shareable(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile's content as it may be given to others: without what may be a secret.

    A reference to a variable of the environment stays, without its default.
    """
    kept: dict[str, Any] = _shareable(content, "")
    return kept


def _shareable(value: Any, key: str) -> Any:  # noqa: ANN401 - JSON
    """Return a value, or MASK for a secret. ``key``: its own, or one above that decides for it."""
    hidden = hides(key, value, declared=True)
    decided = hidden or key in _PROSE
    match value:
        case Mapping():
            found = {
                name: _shareable(each, key if decided else name) for name, each in value.items()
            }
            return {name: each for name, each in found.items() if each != MASK}
        case list():
            return [each for each in (_shareable(item, key) for item in value) if each != MASK]
        case _ if hidden:
            return f"${{{name[1]}}}" if (name := _VARIABLE.fullmatch(str(value))) else MASK
        case str() if not decided:
            return without_passwords(value)
    return value


class _Writer:
    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self.sources: dict[str, str] = {}

    def value(
        self,
        value: object,
        path: KeyPath,
        *,
        given: bool,
        hidden: bool = False,
        declared: bool = True,
    ) -> Any:  # noqa: ANN401 - JSON
        """Return a value as it may be shown.

        ``given``: it is no default. ``hidden``: a key above says that it is secret. ``declared``:
        its key is a field of a model, which checks its type.
        """
        key = path[-1]
        if isinstance(key, str) and not _is_ours(value):
            hidden = hidden or hides(key, value, declared)
        if isinstance(value, ContextSources):
            value = value.given()
        if isinstance(value, Roles):
            value = dict(value.by_profile)
        if isinstance(value, Replacements | WakeGreetings):  # which are mappings in a file, too
            value = dict(value.pairs if isinstance(value, Replacements) else value.by_word)
        match value:
            case ProviderSection():
                return self._provider(value, path, given=given, hidden=hidden)
            case BaseModel():
                return dict(self._fields(value, path, given=given, hidden=hidden))
            case Mapping():
                return {
                    str(name): self.value(
                        each, (*path, str(name)), given=given, hidden=hidden, declared=False
                    )
                    for name, each in value.items()
                }
            case list() | tuple() | set() | frozenset():
                items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
                return [
                    self.value(each, (*path, index), given=given, hidden=hidden, declared=declared)
                    for index, each in enumerate(items)
                ]
            case _:
                return self._leaf(value, path, given=given, hidden=hidden)

    def _provider(
        self, section: ProviderSection, path: KeyPath, *, given: bool, hidden: bool
    ) -> Any:  # noqa: ANN401 - JSON
        several = section.each()
        found: list[dict[str, Any]] = []
        for index, each in enumerate(several):
            place = (*path, index) if len(several) > 1 else path
            name = self._leaf(each.name, (*place, "name"), given=given, hidden=hidden)
            one = {"name": name}
            one.update(self._fields(each.options, place, given=given, hidden=hidden))
            if each.replicas:
                one["replicas"] = [
                    dict(self._fields(more, place, given=given, hidden=hidden))
                    for more in each.replicas
                ]
            found.append(one)
        return found if len(found) > 1 else found[0]

    def _fields(
        self, model: BaseModel, path: KeyPath, *, given: bool, hidden: bool
    ) -> Iterator[tuple[str, Any]]:
        """Yield the fields by their names in a file; options stand beside the name of what has
        them."""
        for name, field_ in type(model).model_fields.items():
            key = field_.alias or name
            value = getattr(model, name)
            its = given and name in model.model_fields_set
            if name == "options" and isinstance(value, BaseModel):
                yield from self._fields(value, path, given=its, hidden=hidden)
            else:
                yield key, self.value(value, (*path, key), given=its, hidden=hidden)
        for key, value in (model.model_extra or {}).items():
            yield key, self.value(value, (*path, key), given=True, hidden=hidden, declared=False)

    def _leaf(self, value: object, path: KeyPath, *, given: bool, hidden: bool) -> Any:  # noqa: ANN401 - JSON
        text = _text(value)
        from_variable = given and (path in self._origin.expanded or self._origin.gave(text))
        if from_variable:
            self.sources[show_path(path)] = "environment"
        elif given:
            origin = self._origin
            self.sources[show_path(path)] = (
                "console"
                if path in origin.console
                else "file"
                if path in origin.keys
                else "program"
            )
        if value is None or text == "":
            return None if value is None else ""
        if from_variable or hidden or isinstance(value, SecretStr | SecretBytes):
            return MASK
        match value:
            case bool() | int() | float():
                return value if math.isfinite(value) else text
            case str() | PurePath() | Enum():
                return without_passwords(text)
            case _:
                return f"({type(value).__name__})"


def _text(value: object) -> str:
    match value:
        case SecretStr() | SecretBytes():
            found = value.get_secret_value()
            return found if isinstance(found, str) else found.decode("utf-8", "replace")
        case Enum():
            return str(value.value)
        case _:
            return str(value)


def _is_ours(value: object) -> bool:
    """Whether a value is a section of Vixio's own, whose fields say which of them are secret."""
    return isinstance(value, BaseModel) and type(value).__module__.startswith("vixio.")


def hides(key: str, value: object, declared: bool) -> bool:
    """Whether a key says that its value, and what is below it, may be secret."""
    if key.lower() in FREE:
        return True
    found = _SECRET.search(key)
    if found is None or (declared and isinstance(value, bool)):
        return False
    count = declared and isinstance(value, int | float) and _COUNT.fullmatch(found.group())
    return not count


def without_passwords(text: str) -> str:
    return _IN_TEXT.sub(MASK, _URL.sub(_masked_url, text))


def _masked_url(match: re.Match[str]) -> str:
    """Return an address without user, password, query and fragment."""
    scheme, _, rest = match.group().partition("//")
    _, at, place = rest.rpartition("@")  # a password may have any other sign in it
    place, mark = re.split(r"[?#]", place, maxsplit=1)[0], re.search(r"[?#]", place)
    start = f"{MASK}@" if at else ""
    return f"{scheme}//{start}{place}{mark.group() + MASK if mark else ''}"
