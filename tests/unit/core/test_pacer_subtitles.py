"""When a sentence is shown, on the virtual clock."""

from __future__ import annotations

import pytest

from tests.session.conversation import on_virtual_time
from tests.unit.core.test_pacer import DIGITS, LEAD_S, LETTERS, Reply, at, packets_of
from vixio.core.pacer import SUBTITLE_S


@on_virtual_time
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_sentence_is_shown_shortly_before_its_sound(at_once: bool) -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS)
        await reply.put_sentence(LETTERS)
        if at_once:
            await reply.put_packets(packets_of(len(LETTERS)))
        await at(LEAD_S + 0.6 - SUBTITLE_S - 0.001)
        assert reply.device.texts() == [DIGITS]
        # With the packets that are due next, or by itself.
        await at(LEAD_S + 0.6 - SUBTITLE_S + (0.12 if at_once else 0.001))
        assert reply.device.texts() == [DIGITS, LETTERS]
        reply.finish()
        await task


@on_virtual_time
async def test_the_last_sentence_is_not_shown_too_early_where_it_is_short() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS)
        await reply.say("k", 1)
        reply.finish()
        await at(LEAD_S + 0.6 - SUBTITLE_S - 0.001)
        assert reply.device.texts() == [DIGITS]
        await task
    assert reply.device.texts() == [DIGITS, "k"]


@on_virtual_time
async def test_a_sentence_that_was_taken_back_is_shown_when_it_is_sent_again() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS)
        await reply.say(LETTERS)
        reply.finish()
        await at(LEAD_S + 0.38)
        reply.pause()
        await reply.silence()
        await at(LEAD_S + 1.5)
        assert reply.device.texts() == [DIGITS]
        reply.resume()
        await task
    assert reply.device.texts() == [DIGITS, LETTERS]
