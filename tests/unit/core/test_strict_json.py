"""JSON without the numbers that could not be written as JSON again."""

from __future__ import annotations

from typing import Any

import pytest

from vixio.core.strict_json import depth_of, parse_json


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "[-Infinity]", "1e999", '{"a": [-1e999]}', "{"]
)
def test_what_is_no_json_or_cannot_be_written(text: str) -> None:
    for each in (text, text.encode()):
        with pytest.raises(ValueError, match=r"not JSON|out of range|Expecting"):
            parse_json(each)


def test_everything_else_is_as_it_was_written() -> None:
    assert parse_json('{"a": [1, -0.5, 1e300, "1e999", null, true]}') == {
        "a": [1, -0.5, 1e300, "1e999", None, True]
    }
    assert parse_json("12", parse_int=len) == 2


@pytest.mark.parametrize(
    ("value", "depth"), [(1, 0), ("x", 0), ({}, 0), ([1], 1), ({"a": [1, {}]}, 2)]
)
def test_depth(value: Any, depth: int) -> None:  # noqa: ANN401 - any JSON value
    assert depth_of(value) == depth
