"""What is asked of the ready tools, typed and as a closed grammar hears it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vixio.core.tools.types import ToolCallResult
from vixio.language.phrasebook import CompiledPhrases, Match, PhraseBook, signatures
from vixio.tools.ready.settings import ReadySettings
from vixio.tools.ready.source import ReadySource

EVERY = ReadySettings.model_validate(
    {
        "weather": {},
        "news": {},
        "calculator": {},
        "dates": {},
        "calendar": {"addresses": ["https://cal.example/a.ics"]},
        "search": {"service": "searxng", "base_url": "https://search.example"},
    }
)

HEARD: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "en": {
        "what is the weather": ("get_weather", {}),
        "how is the weather outside please": ("get_weather", {}),
        "what will the weather be like tomorrow": ("get_weather", {"in_days": 1}),
        "what's the weather in new york": ("get_weather", {"place": "new york"}),
        "what is the weather tomorrow in paris": ("get_weather", {"place": "paris", "in_days": 1}),
        "what are the headlines": ("get_news", {}),
        "can you read the news please": ("get_news", {}),
        "what is twelve times seven": ("calculate", {"expression": "12 * 7"}),
        "how much is ninety plus eleven": ("calculate", {"expression": "90 + 11"}),
        "what is twenty percent of eighty": ("calculate", {"expression": "20% of 80"}),
        "what is the square root of eighty one": ("calculate", {"expression": "sqrt(81)"}),
        "how many kilometers are five miles": (
            "convert_units",
            {"value": 5, "unit": "mile", "to": "km"},
        ),
        "how many days until christmas": ("days_until", {"day": "christmas"}),
        "when is easter": ("about_date", {"day": "easter"}),
        "what is on my calendar": ("get_calendar", {}),
        "what do i have planned tomorrow": ("get_calendar", {"in_days": 1}),
    },
    "zh": {
        "今天天气怎么样": ("get_weather", {}),
        "明天会下雨吗": ("get_weather", {"in_days": 1}),
        "上海的天气": ("get_weather", {"place": "上海"}),
        "北京明天天气怎么样": ("get_weather", {"place": "北京", "in_days": 1}),
        "播一下新闻": ("get_news", {}),
        "十二乘以七等于多少": ("calculate", {"expression": "12 * 7"}),
        "九十减去十一是多少": ("calculate", {"expression": "90 - 11"}),
        "五英里是多少公里": ("convert_units", {"value": 5, "unit": "英里", "to": "公里"}),
        "离春节还有多少天": ("days_until", {"day": "chinese new year"}),
        "中秋节是哪天": ("about_date", {"day": "mid-autumn festival"}),
        "今天农历几号": ("about_date", {}),
        "我明天有什么安排": ("get_calendar", {"in_days": 1}),
    },
    "de": {
        "wie ist das Wetter": ("get_weather", {}),
        "wie wird morgen das Wetter": ("get_weather", {"in_days": 1}),
        "was gibt es Neues": ("get_news", {}),
        "wie viel ist zwölf mal sieben": ("calculate", {"expression": "12 * 7"}),
        "wie viele Tage sind es bis Weihnachten": ("days_until", {"day": "christmas"}),
        "welche Termine habe ich heute": ("get_calendar", {}),
    },
    "es": {
        "qué tiempo hace": ("get_weather", {}),
        "qué noticias hay": ("get_news", {}),
        "cuánto es doce por siete": ("calculate", {"expression": "12 * 7"}),
        "cuántos días faltan para navidad": ("days_until", {"day": "christmas"}),
    },
    "fr": {
        "quel temps fait-il": ("get_weather", {}),
        "combien font douze fois sept": ("calculate", {"expression": "12 * 7"}),
        "donne moi les nouvelles": ("get_news", {}),
    },
    "ja": {
        "今日の天気は": ("get_weather", {}),
        "明日の天気を教えて": ("get_weather", {"in_days": 1}),
        "ニュースを教えて": ("get_news", {}),
        "今日の予定は": ("get_calendar", {}),
    },
}

TYPED: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "en": {
        "what is the weather in Bad Homburg today?": ("get_weather", {"place": "Bad Homburg"}),
        "what's the weather in Ulm tomorrow": ("get_weather", {"place": "Ulm", "in_days": 1}),
        "what is 120 times 17": ("calculate", {"expression": "120 * 17"}),
        "calculate (3+4)*2": ("calculate", {"expression": "calculate (3+4)*2"}),
        "how many days until 2027-01-05": ("days_until", {"day": "2027-01-05"}),
        "search the web for red pandas": ("search_web", {"query": "red pandas"}),
    },
    "zh": {
        "黄山的天气怎么样": ("get_weather", {"place": "黄山"}),
        "三百乘以二十等于多少": ("calculate", {"expression": "300 * 20"}),
        "搜一下熊猫": ("search_web", {"query": "熊猫"}),
    },
    "de": {"wie ist das Wetter in Köln": ("get_weather", {"place": "Köln"})},
    "ja": {"札幌の天気は": ("get_weather", {"place": "札幌"})},
}


def book(language: str) -> CompiledPhrases:
    tools = signatures(ReadySource(EVERY).tools())
    return PhraseBook.load(language).compile(tools)


def matched(language: str, words: str) -> Match:
    found = book(language).match(words)
    assert found is not None, words
    return found


@pytest.mark.parametrize("table", [HEARD, TYPED], ids=["heard", "typed"])
def test_what_is_asked_for(table: dict[str, dict[str, tuple[str, dict[str, Any]]]]) -> None:
    for language, rows in table.items():
        for words, (tool, arguments) in rows.items():
            match = matched(language, words)
            assert (match.tool, match.arguments) == (tool, arguments), words


@pytest.mark.parametrize("language", HEARD)
def test_a_recogniser_of_known_phrases_can_hear_it(language: str) -> None:
    grammar = book(language).grammar()
    for words in HEARD[language]:
        said = list(words) if language in ("zh", "ja") else words.lower().replace("-", " ").split()
        assert grammar.accepts(said), words


def test_nothing_of_it_is_there_without_the_tools() -> None:
    phrases = PhraseBook.load("en").compile(())
    assert phrases.match("what is the weather") is None
    assert phrases.match("what is twelve times seven") is None


def test_a_tool_says_itself_why_it_cannot_answer() -> None:
    match = matched("en", "what is the weather")
    failed = ToolCallResult(
        "", success=False, error="Sorry, it rains in.", error_type="unavailable"
    ).for_model()
    assert match.reply(failed) == "Sorry, it rains in."
    assert match.failed([failed])
    other = ToolCallResult("", success=False, error="HTTP 500", error_type="failed").for_model()
    assert "500" not in match.reply(other)


def test_replies() -> None:
    said = json.dumps({"spoken": "Berlin: rain.", "place": "Berlin"})
    assert matched("en", "what is the weather").reply(said) == "Berlin: rain."
    for own in ("Sunny, 21 degrees.", json.dumps({"text": "Sunny, 21 degrees.", "code": 7})):
        answer = ToolCallResult("get_weather", success=True, result=own).for_model()
        assert matched("en", "what is the weather").reply(answer) == "Sunny, 21 degrees."
    said = json.dumps({"result": "8.04672", "unit": "km"})
    assert matched("en", "how many kilometers are five miles").reply(said) == (
        "5 miles are 8.04672 kilometers."
    )
    day = json.dumps({"date": "2027-03-28"})
    assert matched("en", "when is easter").reply(day) == "Sunday, March 28, 2027."
    assert (
        matched("zh", "今天农历几号").reply(json.dumps({"lunar": "十月廿一"})) == "今天是十月廿一。"
    )
    day_of_month = json.dumps({"lunar_day": 21, "lunar_month": 10})
    assert matched("en", "what is the lunar date").reply(day_of_month) == (
        "It is day 21 of month 10 in the Chinese calendar."
    )
    assert matched("zh", "今天农历几号").reply(day) == "我没有农历。"
