"""Results of tools in words, and the calls that they settle."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.waiting import until
from vixio.web.a2a.client_tools import PendingCalls
from vixio.web.a2a.results import Result, results_in_words

DEEP = "[" * 60 + "]" * 60

FORMS: dict[str, list[tuple[str, str, bool]]] = {
    # As the document has them.
    'Tool "get_weather" returned: {"sky":"clear"}': [("get_weather", '{"sky":"clear"}', False)],
    'Tool "get_weather" returned: "sunny"': [("get_weather", "sunny", False)],
    'Tool "get_weather" returned: 5.0': [("get_weather", "5.0", False)],
    "Tool get_weather failed: no network": [("get_weather", "no network", True)],
    'Tool results: [{"name":"a","result":{"x":1}},{"name":"b","error":"gone"}]': [
        ("a", '{"x": 1}', False),
        ("b", "gone", True),
    ],
    # And what clients make of it.
    'Tool results:\n  [\n{"name": "a", "result": "x"}]': [("a", "x", False)],
    'Tool results: [{"name":"a"}]': [("a", "null", False)],  # JSON.stringify drops undefined
    'Tool results: [{"name":"a","result":1,"error":null}]': [("a", "1", False)],
    'Tool results: {"name":"a","result":true}': [("a", "true", False)],
    'Tool results: [{"name":"a","error":{"code":7}}]': [("a", '{"code": 7}', True)],
    'Tool "a" returned: undefined': [("a", "undefined", False)],
    'Tool "a" returned:': [("a", "", False)],
    '  Tool "a" returned: 1\nTool "b" returned: two\nwords': [
        ("a", "1", False),
        ("b", "two\nwords", False),
    ],
    'Tool "a" failed: x\nTool "b" returned: y': [("a", "x", True), ("b", "y", False)],
    'Tool "weather tool/Paris!" returned: x': [("weather tool/Paris!", "x", False)],
    "Tool 查天气 returned: 晴": [("查天气", "晴", False)],
    "Tool “a” returned: x": [("a", "x", False)],
    # What no database takes, behind one more pair of quotes.
    'Tool "a" returned: "\\ud83d"': [("a", "\ufffd", False)],
    'Tool "a" returned: "x\\u0000y"': [("a", "xy", False)],
    'Tool results: [{"name":"a","result":"\\ud83d\\ude00"}]': [("a", "😀", False)],
    f'Tool results: [{{"name":"a","result":{10**30}}}]': [("a", str(10**30), False)],
    # None of these forms: words for all calls that wait.
    "": [],
    "It is sunny.": [],
    "The Tool x returned: 5": [],
    'Here you are:\nTool "x" returned: 5': [],
    "\n".join(['Tool "a" returned: 1'] * 65): [],
    "Tool returned: 5": [],
    "Tool results: none": [],
    "Tool results: []": [],
    "Tool results: [1]": [],
    'Tool results: [{"result":1}]': [],
    'Tool results: [{"name":5,"result":1}]': [],
    'Tool results: [{"name":"a","result":NaN}]': [],
    f'Tool results: [{{"name":"a","result":{DEEP}}}]': [],
    "Tool results: " + "[" * 20_000: [],
    "Tool results: [" + ",".join(['{"name":"a","result":1}'] * 65) + "]": [],
}


@pytest.mark.parametrize("text", FORMS, ids=lambda text: text[:40])
def test_forms(text: str) -> None:
    found = [(each.name, each.content, each.error) for each in results_in_words(text)]
    assert found == FORMS[text]


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.sampled_from(["returned", "failed"]))
def test_any_words_are_a_result_as_they_are(words: str, how: str) -> None:
    text = f'Tool "a" {how}: {json.dumps(words)}'
    assert results_in_words(text) == (Result("", words.replace("\0", ""), how == "failed", "a"),)


async def settled(results: list[Result]) -> tuple[int, list[str | None]]:
    """Return how many of ``results`` are for no call, and what three waiting calls got."""
    calls = PendingCalls(lambda: None)
    waits = [
        asyncio.create_task(calls.wait(name, {}, 60)) for name in ("look", "look", "Read File")
    ]
    await until(lambda: len(calls.waiting) == len(waits))
    ids = [call.id for call in calls.waiting]
    given = [
        Result(ids[int(each.call_id)], each.content) if each.call_id.isdigit() else each
        for each in results
    ]
    unknown = calls.resolve(given)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    got = [wait.result().content if wait.done() else None for wait in waits]
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    return unknown, got


@pytest.mark.parametrize(
    ("results", "unknown", "got"),
    [
        ([Result("", "x", name="look")], 0, ["x", None, None]),
        ([Result("", "x", name="look"), Result("", "y", name="look")], 0, ["x", "y", None]),
        ([Result("", "x", name="look")] * 3, 1, ["x", "x", None]),
        ([Result("", "x", name=" read file ")], 0, [None, None, "x"]),
        ([Result("1", "x"), Result("", "y", name="look")], 0, ["y", "x", None]),
        ([Result("0", "x"), Result("0", "y")], 1, ["x", None, None]),
        ([Result("", "x", name="other")], 1, [None, None, None]),
        ([Result("unknown", "x", name="look")], 1, [None, None, None]),
        ([Result("", "x")], 1, [None, None, None]),
    ],
)
async def test_what_a_result_settles(
    results: list[Result], unknown: int, got: list[str | None]
) -> None:
    assert await settled(results) == (unknown, got)
