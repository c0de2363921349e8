"""Calculator: arithmetic on decimal numbers, by a parser of its own, and units by a table.

Nothing is evaluated as a program. Text, depth, steps, digits and exponents are bounded, so every
expression takes well under a millisecond.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, DivisionByZero, Overflow
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from vixio.core.errors import UNAVAILABLE, ToolError
from vixio.core.messages import message
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject

MAX_CHARS: Final = 200
MAX_DEPTH: Final = 32
"""Of brackets, signs and powers."""

MAX_POWER: Final = 1_000
MAX_FACTORIAL: Final = 100
SAID_DIGITS: Final = 10
"""Significant ones of a result."""

_DIGITS: Final = 40
_LARGEST: Final = 1_000
"""Decimal places of the largest number."""

_NUMBER: Final = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?|\.\d+"
_TOKEN: Final = re.compile(rf"\s*(?:({_NUMBER})|([^\W\d_]+)|(\*\*|[-+*/^%!()]))")
_ASKED: Final = re.compile(r"^\s*(calculate|compute|计算|算)\s*", re.IGNORECASE)
_SAME: Final = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "（": "(", "）": ")"})
_WORDS: Final = {"x": "*", "times": "*", "of": "*", "plus": "+", "minus": "-", "mod": "mod"}

_FUNCTIONS: Final[Mapping[str, Callable[[Decimal, Context], Decimal]]] = {
    "sqrt": lambda value, context: context.sqrt(value),
    "abs": lambda value, context: context.abs(value),
    "ln": lambda value, context: context.ln(value),
    "log": lambda value, context: context.log10(value),
    "exp": lambda value, context: context.exp(value),
    "sin": lambda value, _: Decimal(repr(math.sin(float(value)))),
    "cos": lambda value, _: Decimal(repr(math.cos(float(value)))),
    "tan": lambda value, _: Decimal(repr(math.tan(float(value)))),
    "round": lambda value, context: context.to_integral_value(value),
    "floor": lambda value, _: Decimal(math.floor(value)),
    "ceil": lambda value, _: Decimal(math.ceil(value)),
}
_CONSTANTS: Final = {"pi": Decimal(repr(math.pi)), "e": Decimal(repr(math.e))}


class _Expression:
    """One expression: sum → product → sign → power → atom."""

    def __init__(self, text: str) -> None:
        self._context = Context(_DIGITS, ROUND_HALF_UP, Emin=-_LARGEST, Emax=_LARGEST)
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def value(self) -> Decimal:
        """Return the value. Raises ValueError and DecimalException."""
        found = self._sum()
        if self._at != len(self._tokens):
            raise ValueError(f"{self._tokens[self._at]!r} is not expected there")
        return found

    def _take(self, *kinds: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at] in kinds:
            self._at += 1
            return self._tokens[self._at - 1]
        return ""

    def _sum(self) -> Decimal:
        left = self._product()
        while sign := self._take("+", "-"):
            right = self._product()
            operate = self._context.add if sign == "+" else self._context.subtract
            left = operate(left, right)
        return left

    def _product(self) -> Decimal:
        left = self._signed()
        while sign := self._take("*", "/", "mod"):
            right = self._signed()
            if sign == "mod":
                left = self._context.remainder(left, right)
            else:
                operate = self._context.multiply if sign == "*" else self._context.divide
                left = operate(left, right)
        return left

    def _signed(self) -> Decimal:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        try:
            if sign := self._take("-", "+"):
                value = self._signed()
                return self._context.minus(value) if sign == "-" else value
            base = self._postfixed()
            if not self._take("^", "**"):
                return base
            power = self._signed()
            if abs(power) > MAX_POWER:
                raise Overflow
            return self._context.power(base, power)
        finally:
            self._depth -= 1

    def _postfixed(self) -> Decimal:
        value = self._atom()
        while sign := self._take("%", "!"):
            value = self._context.divide(value, Decimal(100)) if sign == "%" else _factorial(value)
        return value

    def _atom(self) -> Decimal:
        if self._take("("):
            value = self._sum()
            self._closed()
            return value
        if self._at == len(self._tokens):
            raise ValueError("something is missing at its end")
        token = self._tokens[self._at]
        self._at += 1
        if token in _FUNCTIONS:
            if not self._take("("):
                raise ValueError(f"{token} needs brackets")
            value = _FUNCTIONS[token](self._sum(), self._context)
            self._closed()
            return self._context.plus(value)
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if token[0].isdigit() or token[0] == ".":
            return self._context.create_decimal(token)
        raise ValueError(f"{token!r} is not expected there")

    def _closed(self) -> None:
        if not self._take(")"):
            raise ValueError("a bracket is not closed")


def _tokens(text: str) -> list[str]:
    text = _ASKED.sub("", text.translate(_SAME)).strip().rstrip("=?").rstrip()
    if not text or len(text) > MAX_CHARS:
        raise ValueError(f"expected 1 to {MAX_CHARS} characters")
    tokens, at = list[str](), 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"{text[at:].strip()[:20]!r} is not expected there")
        number, word, sign = found.groups()
        if word:
            sign = _WORDS.get(word.lower(), word.lower())
        tokens.append(number.replace(",", "") if number else sign)
        at = found.end()
    return tokens


def _factorial(value: Decimal) -> Decimal:
    if value != int(value) or value < 0:
        raise ValueError("a factorial is of a whole number")
    if value > MAX_FACTORIAL:
        raise Overflow
    return Decimal(math.factorial(int(value)))


def calculated(expression: str) -> str:
    """Return the value of an expression, in at most ``SAID_DIGITS`` digits.

    Raises ToolError: ``invalid_arguments``, or ``failed`` for what has no value.
    """
    try:
        value = _Expression(expression).value()
    except Overflow:
        raise ToolError("failed", "the result is too large") from None
    except DivisionByZero:
        raise ToolError("failed", "division by zero") from None
    except (DecimalException, OverflowError, ValueError) as error:
        if isinstance(error, ValueError) and not isinstance(error, DecimalException):
            raise ToolError("invalid_arguments", f"{error}", retryable=True) from None
        raise ToolError("failed", "this has no value") from None
    if not value.is_finite():
        raise ToolError("failed", "this has no value")
    return said(value)


def said(value: Decimal) -> str:
    """Return a number as it is said: rounded, without an exponent where it is short."""
    value = Context(prec=SAID_DIGITS).create_decimal(value).normalize()
    if -7 < value.adjusted() < 15:
        return f"{value:f}" if value else "0"
    digits, _, exponent = f"{value:e}".partition("e")
    return f"{digits} × 10^{int(exponent)}"


async def calculate(expression: str, context: ToolContext) -> JsonObject:
    """Calculate exactly. Use it for any arithmetic.

    Args:
        expression: Such as (12.5 + 7) * 3^2, 20% of 80, sqrt(2), 5!, ln(10), 17 mod 5.
    """
    try:
        result = calculated(expression)
    except ToolError as error:
        if error.type != "failed":
            raise
        raise ToolError(UNAVAILABLE, message("calculated_none", context.language)) from None
    context.show(f"{expression.strip()} = {result}")
    return {"result": result, "spoken": message("calculated", context.language, result=result)}


@cache
def _units() -> Mapping[str, tuple[str, Decimal, Decimal]]:
    """Return the dimension, factor and offset of a unit by each of its names."""
    data: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
        Path(__file__).with_name("units.yaml").read_text("utf-8")
    )
    return {
        name: (dimension, Decimal(str(unit["is"])), Decimal(str(unit.get("from", 0))))
        for dimension, units in data.items()
        for own, unit in units.items()
        for name in (own, *map(str.casefold, unit.get("names", ())))
    }


def load_units() -> None:
    """Read the table. Blocking."""
    _units()


async def convert_units(value: float, unit: str, to: str, context: ToolContext) -> JsonObject:
    """Convert a quantity to another unit.

    Args:
        value: How many.
        unit: Such as mile, km, kg, lb, litre, cup, celsius, fahrenheit, hour, kWh, mph, acre, GB.
        to: The unit that is wanted, of the same kind.
    """
    known = _units()
    found = []
    for given in (unit, to):
        name = " ".join(given.split())
        # Symbols differ by case (mb, MB); words do not.
        entry = known.get(name) or known.get(name.casefold())
        entry = entry or known.get(name.casefold().removesuffix("s"))
        if entry is None:
            message_ = f"there is no unit {given[:40]!r}"
            raise ToolError("invalid_arguments", message_, retryable=True)
        found.append(entry)
    (dimension, factor, offset), (other, to_factor, to_offset) = found
    if dimension != other:
        what = f"{unit} is a {dimension}, {to} a {other}"
        raise ToolError("invalid_arguments", what, retryable=True)
    if not math.isfinite(value) or abs(value) > 1e100:
        raise ToolError("invalid_arguments", "the number is too large")
    context_ = Context(prec=_DIGITS)
    exact = context_.divide(Decimal(repr(value)) * factor + offset - to_offset, to_factor)
    result = said(Context(prec=6).create_decimal(exact))
    context.show(f"{said(Decimal(repr(value)))} {unit} = {result} {to}")
    return {"result": result, "unit": to}
