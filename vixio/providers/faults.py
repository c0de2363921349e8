"""Mistakes in a key below the value that a validator has at hand."""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError


def fault(message: str, *place: str | int) -> ValidationError:
    """Return the error of the key at ``place``, relative to the value that is validated.

    Raised within a validator it keeps its place, which a plain ValueError would not.
    """
    error = PydanticCustomError("value_error", "{message}", {"message": message})
    return ValidationError.from_exception_data(
        "settings", [InitErrorDetails(type=error, loc=place, input=None)]
    )
