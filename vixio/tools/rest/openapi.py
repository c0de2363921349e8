"""Converts operations of an OpenAPI 3.0 or 3.1 document to REST tools.

References are followed within the document only. A recursive reference becomes an empty schema,
which allows anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urljoin

import yaml

from vixio.core.errors import ConfigError
from vixio.core.tools.types import ToolOptions
from vixio.tools.rest.config import WITHOUT_BODY, Method, Place, RestToolConfig

MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
MAX_NODES = 5_000
"""Of one operation's schemas, with references inlined."""

MAX_DEPTH = 32
MAX_DESCRIPTION_CHARS = 2_000

BODY = "body"
"""The parameter for a body whose properties cannot be parameters of their own."""

_METHODS = ("get", "post", "put", "patch", "delete")
_DROPPED = frozenset({"example", "examples", "xml", "externalDocs", "discriminator", "deprecated"})


@dataclass(frozen=True, slots=True)
class OperationConfig:
    """What replaces an operation's own words; empty: as in the document."""

    name: str = ""
    description: str = ""
    result: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict, repr=False)
    confirm: bool | None = None


@dataclass(frozen=True, slots=True)
class OpenApiConfig:
    """A document and the operations to use. ``document``: a path or a URL.

    ``operations``: by operation id. ``base_url`` replaces the document's own servers. ``place``:
    the key path of the settings, for messages.
    """

    name: str
    document: str
    operations: Mapping[str, OperationConfig]
    base_url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    allow_private: bool = False
    timeout: float = 15.0
    retries: int = 1
    place: str = "tools.openapi"


def parse_document(data: bytes) -> dict[str, Any]:
    """Return the document, JSON or YAML. Raises ConfigError."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ConfigError(f"the document has more than {MAX_DOCUMENT_BYTES} bytes")
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError):
        try:
            document = yaml.safe_load(data)
        except (yaml.YAMLError, RecursionError, ValueError):
            raise ConfigError("the document is neither JSON nor YAML") from None
    version = document.get("openapi") if isinstance(document, dict) else None
    if not isinstance(version, str) or not version.startswith(("3.0", "3.1")):
        raise ConfigError(f"expected an OpenAPI 3.0 or 3.1 document, found version {version!r}")
    return cast("dict[str, Any]", document)


def to_configs(
    document: Mapping[str, Any], config: OpenApiConfig
) -> tuple[list[RestToolConfig], dict[str, str]]:
    """Return the tools of the chosen operations, and by operation id why others are left out."""
    found = {
        str(operation.get("operationId")): (method, path, item, operation)
        for method, path, item, operation in _operations(document)
    }
    tools: list[RestToolConfig] = []
    faults: dict[str, str] = {}
    for operation_id, wanted in config.operations.items():
        place = found.get(operation_id)
        if place is None:
            faults[operation_id] = "the document has no operation with this id"
            continue
        try:
            tools.append(_Operation(document, config, operation_id, wanted, *place).tool())
        except ConfigError as error:
            faults[operation_id] = str(error)
        except (TypeError, AttributeError, KeyError, ValueError):
            faults[operation_id] = "its description in the document is malformed"
    return tools, faults


def _operations(
    document: Mapping[str, Any],
) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        for method in _METHODS:
            operation = item.get(method) if isinstance(item, dict) else None
            if isinstance(operation, dict):
                yield method, str(path), item, operation


@dataclass(slots=True)
class _Operation:
    document: Mapping[str, Any]
    config: OpenApiConfig
    operation_id: str
    wanted: OperationConfig
    method: str
    path: str
    item: Mapping[str, Any]
    operation: Mapping[str, Any]
    nodes: int = 0

    def tool(self) -> RestToolConfig:
        """Return the operation as a tool. Raises ConfigError."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        places: dict[str, Place] = {}
        for parameter in self._parameters():
            name, place = str(parameter["name"]), parameter["in"]
            if place not in {"path", "query"}:
                self._check_fixed(name, place, parameter)
                continue
            schema = self._schema(parameter.get("schema", {}))
            if (words := parameter.get("description")) and "description" not in schema:
                schema["description"] = words
            properties[name] = schema
            if place == "query":
                places[name] = "query"
            if parameter.get("required") or place == "path":
                required.append(name)
        body_parameter = self._body(properties, required, places)
        for name in self.wanted.constants:
            properties.pop(name, None)
        method = cast("Method", self.method.upper())
        repeatable = method in {"GET", "PUT", "DELETE"}  # RFC 9110 9.2.2
        destroys = method == "DELETE"
        confirm = self.wanted.confirm if self.wanted.confirm is not None else destroys
        return RestToolConfig(
            name=self.wanted.name or self.operation_id,
            description=self.wanted.description or self._description(),
            method=method,
            url=self._base() + self.path,
            parameters={
                "type": "object",
                "properties": properties,
                "required": [name for name in required if name in properties],
                "additionalProperties": False,
            },
            headers=self.config.headers,
            places=places,
            body_parameter=body_parameter,
            constants=self.wanted.constants,
            result=self.wanted.result,
            allow_private=self.config.allow_private,
            options=ToolOptions(
                timeout=self.config.timeout,
                idempotent=repeatable,
                retries=self.config.retries if repeatable else 0,
                confirm=confirm,
            ),
        )

    def _parameters(self) -> list[Mapping[str, Any]]:
        """Return those of path and operation; the operation's override (OpenAPI 3.1, Path Item)."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for parameter in (*self.item.get("parameters", ()), *self.operation.get("parameters", ())):
            whole = self._resolve(parameter)
            found[str(whole["name"]), str(whole["in"])] = whole
        return list(found.values())

    def _check_fixed(self, name: str, place: str, parameter: Mapping[str, Any]) -> None:
        """Check that a required header or cookie is set: the model does not provide these."""
        given = {header.lower() for header in self.config.headers}
        needed = parameter.get("required") and place == "header"
        if needed and name.lower() not in given and name.lower() not in {"accept", "content-type"}:
            raise ConfigError(f"it requires the header {name}: set it in headers")
        if parameter.get("required") and place == "cookie":
            raise ConfigError(f"it requires the cookie {name}, and cookies are not supported")

    def _body(
        self, properties: dict[str, Any], required: list[str], places: dict[str, Place]
    ) -> str:
        body = self.operation.get("requestBody")
        if body is None or self.method.upper() in WITHOUT_BODY:
            return ""
        whole = self._resolve(body)
        content = whole.get("content", {})
        kind = next((kind for kind in content if kind.partition(";")[0].endswith("json")), None)
        if kind is None:
            if whole.get("required"):
                raise ConfigError(f"its body is not JSON but {', '.join(content) or 'nothing'}")
            return ""
        schema = self._schema(content[kind].get("schema", {}))
        inner = schema.get("properties")
        if (
            schema.get("type", "object") == "object"
            and isinstance(inner, dict)
            and inner
            and not set(inner) & set(properties)
        ):
            properties.update(inner)
            places.update(dict.fromkeys(inner, "body"))
            if whole.get("required"):
                required += [str(name) for name in schema.get("required", ())]
            return ""
        if BODY in properties:
            raise ConfigError(f"it has a parameter named {BODY} beside its body")
        properties[BODY] = schema
        if whole.get("required"):
            required.append(BODY)
        return BODY

    def _description(self) -> str:
        parts = (self.operation.get("summary"), self.operation.get("description"))
        words = " ".join(" ".join(str(part).split()) for part in parts if part)
        return (words or f"{self.method.upper()} {self.path}")[:MAX_DESCRIPTION_CHARS]

    def _base(self) -> str:
        if self.config.base_url:
            return self.config.base_url.rstrip("/")
        servers = self.operation.get("servers") or self.item.get("servers")
        servers = servers or self.document.get("servers") or [{"url": "/"}]
        url = str(servers[0]["url"])
        for name, variable in servers[0].get("variables", {}).items():
            url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
        if self.config.document.startswith(("http://", "https://")):
            url = urljoin(self.config.document, url)
        if not url.startswith(("http://", "https://")):
            raise ConfigError("the document names no server: set base_url")
        return url.rstrip("/")

    def _resolve(self, node: Any, depth: int = 0) -> Mapping[str, Any]:  # noqa: ANN401 - any JSON
        reference = node.get("$ref") if isinstance(node, dict) else None
        if not isinstance(reference, str):
            return cast("Mapping[str, Any]", node)
        if not reference.startswith("#/"):
            raise ConfigError(f"it refers outside of the document: {reference[:100]}")
        if depth > MAX_DEPTH:
            raise ConfigError("its references are circular")
        target: Any = self.document
        for part in reference[2:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~")  # RFC 6901 4
            target = target[int(key)] if isinstance(target, list) else target[key]
        return self._resolve(target, depth + 1)

    def _schema(self, node: Any, above: tuple[str, ...] = ()) -> dict[str, Any]:  # noqa: ANN401 - any JSON
        """Return a schema with its references inlined, as JSON Schema 2020-12."""
        self.nodes += 1
        if self.nodes > MAX_NODES or len(above) > MAX_DEPTH:
            raise ConfigError("its schemas are too large")
        if not isinstance(node, dict):
            return {}  # true: anything
        reference = node.get("$ref")
        if isinstance(reference, str):
            if reference in above:
                return {}
            return self._schema(self._resolve(node), (*above, reference))
        written = {
            key: self._value(key, value, above)
            for key, value in node.items()
            if key not in _DROPPED and not key.startswith("x-")
        }
        return _modern(written)

    def _value(self, key: str, value: Any, above: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON
        if key in {"properties", "patternProperties", "$defs"} and isinstance(value, dict):
            return {name: self._schema(each, above) for name, each in value.items()}
        if key in {"allOf", "anyOf", "oneOf", "prefixItems"} and isinstance(value, list):
            return [self._schema(each, above) for each in value]
        if key in {"items", "additionalProperties", "not"} and isinstance(value, dict):
            return self._schema(value, above)
        return value


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """Convert the dialect of OpenAPI 3.0 to JSON Schema (OpenAPI 3.1, appendix A)."""
    if schema.pop("nullable", False) is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    for limit, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(limit), bool) and schema.pop(limit) and bound in schema:
            schema[limit] = schema.pop(bound)
    return schema
