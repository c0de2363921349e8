"""Marks functions and classes as tools. They stay callable as before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from vixio.core.tools.types import ToolOptions

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__vixio_tool__"
_BOX = "__vixio_toolbox__"


@dataclass(frozen=True, slots=True)
class ToolMark:
    """The arguments of :func:`tool`."""

    name: str
    description: str
    options: ToolOptions


@overload
def tool(function: F) -> F: ...


@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    timeout: float = ...,
    confirm: bool = ...,
    idempotent: bool = ...,
    read_only: bool = ...,
    retries: int = ...,
    concurrency: int = ...,
    max_result_chars: int = ...,
) -> Callable[[F], F]: ...


def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str = "",
    description: str = "",
    **options: Any,
) -> Any:
    """Make a function (async or not) a tool: ``@tool`` or ``@tool(timeout=5, confirm=True)``.

    ``name`` and ``description`` replace the function's own name and docstring; the other options
    are fields of :class:`~vixio.core.tools.types.ToolOptions`, TypeError for any that is not.
    """
    mark = ToolMark(name, description, ToolOptions(**options))

    def decorate(target: Callable[..., Any]) -> Callable[..., Any]:
        setattr(target, _MARK, mark)
        return target

    return decorate if function is None else decorate(function)


def toolbox(factory: F) -> F:
    """Mark a class whose methods are tools, or a function that returns an instance of one.

    Each session gets its own instance, made at the first call of one of its tools and closed (its
    ``close``, async or not) with the session. A class lists its tools by ``@tool`` on methods; of a
    factory function the return annotation names the class. A parameter annotated ``ToolContext``
    is given the session's context.
    """
    setattr(factory, _BOX, True)
    return factory


def mark_of(target: object) -> ToolMark | None:
    """Return the arguments of :func:`tool` for ``target``; None if it is not marked."""
    mark = getattr(target, _MARK, None)
    return mark if isinstance(mark, ToolMark) else None


def is_toolbox(target: object) -> bool:
    """Whether ``target`` itself was marked by :func:`toolbox`; subclasses are not."""
    return bool(getattr(target, "__dict__", {}).get(_BOX))
