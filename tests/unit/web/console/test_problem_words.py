"""The console knows what the API says is wrong in Chinese: each sentence has its words."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from vixio.cli.diagnostics.row import Row, tried
from vixio.core.errors import ProviderTimeout
from vixio.providers.service_errors import Service, of_code, of_status, unreachable
from vixio.web.console.assets import read_assets

PACKAGE: Final = Path(__file__).parents[4] / "vixio"

PLACES: Final = ("web/api", "data/devices", "data/memory", "data/reminders", "composition")

RAISED: Final = {
    "Problem": 1,
    "too_many": 0,
    "unavailable": 0,
    "RegistryError": 0,
    "NotKnown": 0,
    "TooManyTries": 0,
    "FirmwareError": 0,
    "FactRefused": 0,
    "ReminderError": 0,
    "NotNow": 0,
}
"""Names of what is raised with a sentence for people, with the place of the sentence."""

FOR_PROGRAMS: Final = (
    "this is for devices: ",
    "this is not done by that method",
    "the body is not JSON",
    "send JSON, with `Content-Type",
    "Last-Event-ID: ",
    "the token lets no event be seen",
)
"""Beginnings of sentences that the console cannot meet: it sends what the API expects."""

VALUE: Final = "'a value'"


def sentence(node: ast.expr) -> str:
    """Return a sentence of the code with a value in each of its places; empty: it is not known."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else VALUE for part in parts
            )
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return sentence(left) + (sentence(right) or VALUE)
    return ""


def sentences() -> Iterator[str]:
    """Yield all that are raised."""
    for place in PLACES:
        for path in (PACKAGE / place).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                match node:
                    case ast.Call(func=ast.Name(id=name), args=given) if name in RAISED:
                        text = "".join(map(sentence, given[RAISED[name] :][:1]))
                        words = re.findall(r"[a-z]+", text.replace(VALUE, ""))
                        if len(words) > 1 and not text.startswith(FOR_PROGRAMS):
                            yield text


@cache
def known() -> list[tuple[re.Pattern[str], str, str]]:
    """Return the sentences that have words: as a pattern, as they stand there, and their words."""
    text = read_assets().files["words/problems.js"].content.decode()
    pairs = [json.loads(line) for line in re.findall(r"^  (\[\".*\"\]),$", text, re.MULTILINE)]
    return [
        (re.compile("(.+?)".join(map(re.escape, re.split(r"\{\w+\}", each)))), each, words)
        for each, words in pairs
    ]


def test_every_sentence_has_chinese_words() -> None:
    raised = set(sentences())
    assert len(raised) > 80
    forms = [form for form, _, _ in known()]
    lacking = [each for each in raised if not any(form.fullmatch(each) for form in forms)]
    assert sorted(lacking) == [], "add them to vixio/web/console/static/words/problems.js"


def test_the_words_are_chinese_and_have_the_values_of_their_sentence() -> None:
    pairs = known()
    assert len({each for _, each, _ in pairs}) == len(pairs)
    for _, each, words in pairs:
        assert re.search(r"[\u4e00-\u9fff]", words) or words == "{text}", words
        assert set(re.findall(r"\{(\w+)\}", words)) <= set(re.findall(r"\{(\w+)\}", each)), each


def in_chinese(text: str) -> str:
    """Return what lib/problems.js makes of a sentence."""
    for form, each, words in known():
        if found := form.fullmatch(text):
            names = re.findall(r"\{(\w+)\}", each)
            filled = words
            for name, value in zip(names, found.groups(), strict=True):
                bare = re.sub(r"^(['\"])(.*)\1$", r"\2", value)
                filled = filled.replace(f"{{{name}}}", in_chinese(bare))
            return filled
    place, colon, rest = text.partition(": ")
    return f"{place}：{in_chinese(rest)}" if colon and in_chinese(rest) != rest else text


VOICE: Final = Service("openai", "tts", "api.test")
MODEL: Final = Service("openai", "agent")

FAILED: Final = {
    str(of_status(VOICE, 401, "", "", {})): (
        "openai：api.test 的语音合成服务拒绝了密钥（401）：请检查 tts.api_key"
    ),
    str(of_status(MODEL, 404, "", "<html>", {})): (
        "openai：语言模型服务返回 404（没有此页面）：请检查 agent.model 和 base_url，"
        "多数服务的地址以 /v1 结尾"
    ),
    str(of_status(MODEL, 429, "insufficient_quota", "", {})): (
        "openai：语言模型服务称账户额度已用完（429）"
    ),
    str(of_status(MODEL, 429, "", "", {})): "openai：语言模型服务收到的请求过多（429），请稍后再试",
    str(of_status(VOICE, 500, "", "oops", {})): "openai：api.test 的语音合成服务返回错误 500：oops",
    str(of_code(MODEL, "rate_limit_exceeded", "")): (
        "openai：语言模型服务收到的请求过多（rate_limit_exceeded）"
    ),
    str(unreachable(VOICE, os.strerror(errno.ECONNREFUSED))): (
        "openai：api.test 的语音合成服务无法连接（连接被拒绝）：base_url 是否正确？服务是否在运行？"
    ),
    str(ProviderTimeout("whisper", "readiness", 60)): "whisper：60 秒内没有准备好",
}


@pytest.mark.parametrize("said", FAILED)
def test_why_a_part_fails_is_said_in_chinese(said: str) -> None:
    assert in_chinese(said) == FAILED[said]


async def test_a_trial_that_takes_too_long_is_told_in_chinese() -> None:
    async def late(_: Row) -> None:
        raise ProviderTimeout("edge", "audio", 9)

    row = Row("tts")
    await tried(row, late, None, 20)
    assert in_chinese(row.detail) == (
        "edge：9 秒内没有声音：对话中这样太慢，也可以调整设置中的 timeouts"
    )


def test_what_has_to_be_installed_is_said_in_chinese() -> None:
    lacking, count = [], 0
    for path in (PACKAGE / "providers").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr) and "how_to_install(" in ast.unparse(node):
                text = sentence(node)
                if not text.startswith(VALUE):  # a library's own words
                    count += 1
                    lacking += [text] if in_chinese(text) == text else []
    assert count > 8
    assert lacking == []
