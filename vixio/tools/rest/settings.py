"""Options of the source types ``rest`` (tools described one by one) and ``openapi``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from vixio.core.text_forms import of_form
from vixio.tools.source_settings import Headers, Retries, Seconds, SourceSettings

_base_url = of_form(r"(https?://.+)?", "an address such as https://api.example.org")

Name = Annotated[str, Field(min_length=1, max_length=256)]


def check_result(expression: str) -> None:
    """Raise ValueError, one line, for what is no JMESPath. An empty one is fine."""
    if expression:
        from vixio.core.errors import ConfigError
        from vixio.tools.rest.answer import compile_result  # not while a server without any starts

        try:
            compile_result(expression)
        except ConfigError as error:
            raise ValueError(str(error)) from None


class RestToolSettings(SourceSettings):
    """One tool: its description for the model, the request, and which part of the answer to use."""

    name: Name
    description: Name
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    url: Name
    """With {parameter} in its path; never in the host."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """A JSON Schema of an object, or only its properties, which are then all required."""
    headers: Headers = Field(default_factory=dict)
    query: tuple[Name, ...] = ()
    """Parameters sent in the query although the method has a body."""
    constants: dict[Name, Any] = Field(default_factory=dict)
    """Sent with every call; the model does not see them."""
    result: str = ""
    """JMESPath; empty: the whole answer."""
    allow_private: bool = False
    timeout: Seconds = 15.0
    idempotent: bool | None = None
    """Whether a call may be repeated. Unset: GET, PUT and DELETE may."""
    retries: Retries = 1
    confirm: bool = False

    @model_validator(mode="before")
    @classmethod
    def _only_properties(cls, data: Any) -> Any:  # noqa: ANN401 - what stands in the file
        if not isinstance(data, dict) or not isinstance(data.get("parameters"), dict):
            return data
        given = data["parameters"]
        if given.get("type") == "object" or not given:
            return data
        if not all(isinstance(schema, dict) for schema in given.values()):
            raise ValueError("expected parameters to be a JSON Schema of an object, or properties")
        whole = {
            "type": "object",
            "properties": given,
            "required": [name for name, schema in given.items() if "default" not in schema],
            "additionalProperties": False,
        }
        return {**data, "parameters": whole}


class RestSettings(SourceSettings):
    """Options of the type ``rest``."""

    tools: tuple[RestToolSettings, ...] = ()


class OperationSettings(SourceSettings):
    """What replaces the document's own words for one operation."""

    name: str = ""
    description: str = ""
    result: str = ""
    constants: dict[Name, Any] = Field(default_factory=dict)
    confirm: bool | None = None
    """Unset: DELETE needs the user's yes."""


class OpenApiSettings(SourceSettings):
    """Options of the type ``openapi``: a service described by its OpenAPI document."""

    document: Name
    """A path or a URL."""
    operations: dict[Name, OperationSettings] = Field(min_length=1)
    """By operation id; or a list of ids."""
    base_url: Annotated[str, AfterValidator(_base_url)] = ""
    headers: Headers = Field(default_factory=dict)
    allow_private: bool = False
    timeout: Seconds = 15.0
    retries: Retries = 1

    @model_validator(mode="before")
    @classmethod
    def _list_of_ids(cls, data: Any) -> Any:  # noqa: ANN401 - what stands in the file
        if isinstance(data, dict) and isinstance(data.get("operations"), list):
            if not all(isinstance(each, str) for each in data["operations"]):
                raise ValueError("expected operations to be operation ids")
            return {**data, "operations": {each: {} for each in data["operations"]}}
        if isinstance(data, dict) and isinstance(data.get("operations"), dict):
            filled = {key: value or {} for key, value in data["operations"].items()}
            return {**data, "operations": filled}
        return data
