"""What users say of music, stories and radio, in the phrase books."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.language.phrasebook.tools import BOARD, COMMON, tool
from vixio.language.phrasebook import Call, CompiledPhrases, PhraseBook
from vixio.tools.media.settings import MediaSettings
from vixio.tools.media.source import MediaSource

SENTENCES: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "en-US": [
        ("play some music", "play_media", {"kind": "music"}),
        ("play a story please", "play_media", {"kind": "story"}),
        ("tell me a story for Anna", "play_media", {"query": "Anna", "kind": "story"}),
        ("play Bohemian Rhapsody", "play_media", {"query": "Bohemian Rhapsody"}),
        ("play the song yesterday", "play_media", {"query": "yesterday"}),
        ("turn on the radio", "play_media", {"kind": "radio"}),
        ("stop the music", "pause_media", {}),
        ("pause", "pause_media", {}),
        ("continue", "resume_media", {}),
        ("go on", "resume_media", {}),
        ("next song please", "next_media", {}),
        ("skip this", "next_media", {}),
        ("previous song", "previous_media", {}),
        ("what is this", "what_is_playing", {}),
        ("what's this song?", "what_is_playing", {}),
        ("who sings this", "what_is_playing", {}),
        ("make it louder", "self_get_device_status", {}),
    ],
    "zh": [
        ("放点音乐", "play_media", {"kind": "music"}),
        ("播放一首歌", "play_media", {"kind": "music"}),
        ("讲个故事", "play_media", {"kind": "story"}),
        ("给安娜讲个故事", "play_media", {"query": "安娜", "kind": "story"}),
        ("放晴天", "play_media", {"query": "晴天"}),
        ("我想听周杰伦的歌", "play_media", {"query": "周杰伦的歌"}),
        ("打开广播", "play_media", {"kind": "radio"}),
        ("暂停", "pause_media", {}),
        ("别放了", "pause_media", {}),
        ("继续播放", "resume_media", {}),
        ("下一首", "next_media", {}),
        ("换一首吧", "next_media", {}),
        ("上一首", "previous_media", {}),
        ("这是什么歌？", "what_is_playing", {}),
        ("现在放的是什么", "what_is_playing", {}),
        ("大声一点", "self_get_device_status", {}),
    ],
}


async def compiled(language: str) -> CompiledPhrases:
    source = MediaSource("media", MediaSettings())
    tools = [
        tool(each.name, each.description, **each.parameters["properties"])
        for each in source.tools()
    ]
    await source.close()
    return PhraseBook.load(language).compile([*COMMON, *BOARD, *tools])


@pytest.mark.parametrize("language", SENTENCES)
def test_sentences_call_their_tools(language: str) -> None:
    phrases = asyncio.run(compiled(language))
    for text, name, arguments in SENTENCES[language]:
        match = phrases.match(text)
        assert match is not None, text
        step = match.proceed()
        assert isinstance(step, Call), text
        assert (step.tool, step.arguments) == (name, arguments), text


def test_nothing_of_it_is_understood_without_the_tools() -> None:
    phrases = PhraseBook.load("en-US").compile([*COMMON, *BOARD])
    assert phrases.match("play Bohemian Rhapsody") is None
    assert phrases.match("next song") is None
