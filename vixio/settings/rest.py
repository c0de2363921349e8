"""REST tools in the settings: described one by one, or taken from OpenAPI documents."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, model_validator

from vixio.settings.mcp import ServerName
from vixio.settings.sections import Seconds, Section

Name = Annotated[str, Field(min_length=1, max_length=256)]
Headers = dict[Name, SecretStr]
Retries = Annotated[int, Field(ge=0, le=10)]

__all__ = ["OpenApiSettings", "OperationSettings", "RestToolSettings", "ServerName"]


class RestToolSettings(Section):
    """One tool: what the model is told, the request, and what is taken out of the answer."""

    name: Name
    description: Name
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    url: Name
    """With {parameter} in its path; never in the host."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """A JSON Schema of an object, or just its properties; those are then all needed."""
    headers: Headers = Field(default_factory=dict)
    query: tuple[Name, ...] = ()
    """Parameters that go into the query though the method has a body."""
    constants: dict[Name, Any] = Field(default_factory=dict)
    """Sent with every call; the model does not see them."""
    result: str = ""
    """JMESPath; empty: the whole answer."""
    allow_private: bool = False
    timeout: Seconds = 15.0
    idempotent: bool | None = None
    """May it be tried again? Unset: GET, PUT and DELETE may."""
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


class OperationSettings(Section):
    """What is different from the document."""

    name: str = ""
    description: str = ""
    result: str = ""
    constants: dict[Name, Any] = Field(default_factory=dict)
    confirm: bool | None = None
    """Unset: DELETE asks for a yes."""


class OpenApiSettings(Section):
    """A service by its OpenAPI document."""

    document: Name
    """A path or a URL."""
    operations: dict[Name, OperationSettings] = Field(min_length=1)
    """By operation id; or a list of ids."""
    base_url: str = Field(default="", pattern=r"^(https?://.+)?$")
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
