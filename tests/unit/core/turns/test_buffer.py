from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import on_virtual_time
from vixio.core.chunk import Chunk, Notice, TextDelta
from vixio.core.clock import now
from vixio.core.turns.buffer import AGENT_BURST, JOINED_CHARS, TOOL_LIMIT, ReplyBuffer


async def rest(buffer: ReplyBuffer) -> list[Chunk]:
    buffer.finish()
    chunks = []
    while await buffer.head() is not None:
        chunks.append(buffer.take())
    return chunks


async def test_unread_words_of_a_tool_are_joined_in_order() -> None:
    buffer = ReplyBuffer()
    buffer.put(TextDelta(1, "Let me see. ", complete=True))
    for word in ("It ", "is ", "raining."):
        buffer.put_said(TextDelta(1, word))
    buffer.put_said(Notice(1, "rain"))
    buffer.put_said(TextDelta(1, "Take "))
    buffer.put_said(TextDelta(1, "a coat."))
    buffer.put_said(TextDelta(1, " ", complete=True))
    assert await rest(buffer) == [
        TextDelta(1, "Let me see. ", complete=True),
        TextDelta(1, "It is raining."),
        Notice(1, "rain"),
        TextDelta(1, "Take a coat."),
        TextDelta(1, " ", complete=True),
    ]


async def test_a_long_stream_of_words_that_nobody_reads_yet_is_kept_whole() -> None:
    buffer = ReplyBuffer()
    words = [f"{number} " for number in range(20_000)]
    for word in words:
        assert buffer.takes_from_tools
        buffer.put_said(TextDelta(1, word))
    chunks = await rest(buffer)
    assert len(chunks) < TOOL_LIMIT
    texts = [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]
    assert "".join(texts) == "".join(words)
    assert max(map(len, texts)) < JOINED_CHARS + 10


async def test_a_piece_is_joined_below_the_limit_only() -> None:
    buffer = ReplyBuffer()
    for text in ("x" * (JOINED_CHARS - 1), "x", "y"):
        buffer.put_said(TextDelta(1, text))
    assert await rest(buffer) == [TextDelta(1, "x" * JOINED_CHARS), TextDelta(1, "y")]


@pytest.mark.parametrize(("unread", "others_ran"), [(AGENT_BURST - 1, False), (AGENT_BURST, True)])
@on_virtual_time
async def test_others_come_first_after_a_few_chunks(unread: int, others_ran: bool) -> None:
    buffer, ran = ReplyBuffer(), asyncio.Event()
    for _ in range(unread):
        buffer.put(TextDelta(1, "word "))
    asyncio.get_running_loop().call_soon(ran.set)
    await buffer.room()
    assert ran.is_set() == others_ran
    assert now() == 0.0


async def test_words_that_were_read_are_not_changed() -> None:
    buffer = ReplyBuffer()
    buffer.put_said(TextDelta(1, "It "))
    assert await buffer.head() == TextDelta(1, "It ")
    assert buffer.take() == TextDelta(1, "It ")
    buffer.put_said(TextDelta(1, "is."))
    assert await rest(buffer) == [TextDelta(1, "is.")]
