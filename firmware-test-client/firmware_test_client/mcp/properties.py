"""Arguments of a device tool: their types, ranges, defaults and JSON form.

Source: class Property and class PropertyList in main/mcp_server.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Value = bool | int | str
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1


class PropertyError(ValueError):
    """An argument out of range, with the firmware's text (Property::set_value)."""


def value_as_int(number: float) -> int:
    """cJSON's `valueint`: truncated towards zero, limited to 32 bits."""
    return int(max(_INT_MIN, min(_INT_MAX, number)))


@dataclass(frozen=True, slots=True)
class Property:
    """One argument. Without a default it is required; ranges are for integers only."""

    name: str
    type: Literal["boolean", "integer", "string"]
    default: Value | None = None
    minimum: int | None = None
    maximum: int | None = None

    def to_json(self) -> dict[str, object]:
        """As Property::to_json: `default`, `minimum`, `maximum` only where they exist."""
        schema: dict[str, object] = {"type": self.type}
        if self.default is not None:
            schema["default"] = self.default
        if self.type == "integer":
            if self.minimum is not None:
                schema["minimum"] = self.minimum
            if self.maximum is not None:
                schema["maximum"] = self.maximum
        return schema

    def read(self, arguments: Mapping[str, object]) -> Value | None:
        """The value in a call, or None when it is absent or of another type (DoToolCall).

        Raises:
            PropertyError: an integer out of its range.
        """
        value = arguments.get(self.name)
        if self.type == "boolean":
            return value if isinstance(value, bool) else None
        if self.type == "string":
            return value if isinstance(value, str) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        number = value_as_int(value)
        if self.minimum is not None and number < self.minimum:
            raise PropertyError(f"Value is below minimum allowed: {self.minimum}")
        if self.maximum is not None and number > self.maximum:
            raise PropertyError(f"Value exceeds maximum allowed: {self.maximum}")
        return number
