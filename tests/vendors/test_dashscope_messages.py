"""The messages on the stand-in's page, by the client and by the stand-in."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any, cast

import pytest

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.dashscope import messages
from vixio.providers.dashscope.errors import of_code

PAGE = files("vixio_bench.vendors.dashscope").joinpath("page.md").read_text()
RECORDED = dict(re.findall(r"^\| ([^|]+) \| `(\{.*\})` \|$", PAGE, re.MULTILINE))
TASK = "2bf83b9a-baeb-4fda-8d9a-000000000001"


def test_the_page_has_them() -> None:
    assert len(RECORDED) == 9
    assert all(json.loads(text) for text in RECORDED.values())


def test_tasks_are_written() -> None:
    begin = cast(dict[str, Any], json.loads(RECORDED["a recogniser's task begins"]))
    parameters, model = begin["payload"]["parameters"], begin["payload"]["model"]
    made = messages.run_task(TASK, model, "asr", "recognition", parameters)
    assert json.loads(made) == begin
    assert messages.finish_task(TASK) == RECORDED["no more audio"]
    assert messages.continue_task(TASK, "床前明月光，") == RECORDED["a text for a voice"]


def test_results_are_read() -> None:
    result = messages.read(RECORDED["a result"], "asr")
    assert (result.kind, result.task) == ("result-generated", TASK)
    assert result.body["output"]["sentence"]["text"] == "好，我们"
    words = messages.read(RECORDED["words that may change"], "asr")
    assert (words.task, words.text("text"), words.text("stash")) == ("", "今天", "天气")
    whole = messages.read(RECORDED["words of a sentence"], "asr")
    assert (whole.text("transcript"), whole.text("emotion")) == ("今天天气很好。", "happy")
    assert messages.read(RECORDED["sound"], "tts").text("delta") == "AQACAA=="


@pytest.mark.parametrize("name", ["a failure", "an error"])
def test_failures_are_errors(name: str) -> None:
    with pytest.raises(ProviderError) as caught:
        messages.read(RECORDED[name], "tts")
    expected = {
        "a failure": "reports: request timeout after 23 seconds. (CLIENT_ERROR)",
        "an error": "tts.voice does not belong to tts.model: Voice 'cherry'",
    }
    assert expected[name] in str(caught.value)


@pytest.mark.parametrize("name", RECORDED)
def test_whatever_is_cut_short_is_refused(name: str) -> None:
    text = RECORDED[name]
    for end in range(len(text)):
        with pytest.raises(ProviderError):
            messages.read(text[:end], "asr")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "17", '"a"', "null", "[" * 100_000],
)
def test_what_is_no_message_is_refused(text: str) -> None:
    with pytest.raises(ProviderError, match="no JSON"):
        messages.read(text, "asr")


@pytest.mark.parametrize(
    "text",
    [
        '{"header":{"event":1},"payload":[]}',
        '{"header":[],"type":{}}',
        '{"type":"x","text":3}',
        '{"header":{}}',
    ],
)
def test_a_message_of_a_strange_form_says_nothing(text: str) -> None:
    told = messages.read(text, "asr")
    assert told.text("text") == ""


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        ("InvalidApiKey", "no_key", "bailian.console"),
        ("invalid_api_key", "no_key", "asr.url"),
        ("Arrearage", "quota", "billing"),
        ("AllocationQuota.FreeTierOnly", "quota", "balance"),
        ("Model.AccessDenied", "no_model", "activated"),
        ("ModelNotFound", "no_model", "asr.model"),
        ("Throttling.RateQuota", "busy", "busy"),
        ("rate_limit_exceeded", "busy", "busy"),
        ("InvalidParameter", "request", "refuses the request"),
        ("InternalError", "service", "reports"),
        ("", "service", "no code"),
    ],
)
def test_codes_say_what_to_do(code: str, reason: str, words: str) -> None:
    error = of_code("asr", code, "words of the vendor")
    assert error.reason == reason
    assert words in str(error)
    assert "\n" not in str(error)
    assert isinstance(error, ProviderUnavailable) == (reason in ("no_key", "quota", "no_model"))
