"""A reply that is held while the user may be interrupting it, on the virtual clock."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import on_virtual_time
from tests.unit.core.test_pacer import (
    DELAY_S,
    DIGITS,
    LEAD_S,
    LETTERS,
    PACKET_MS,
    Reply,
    at,
    packets_of,
)
from vixio.core.clock import now
from vixio.core.pacer import AGAIN_S


@on_virtual_time
async def test_a_short_pause_is_not_heard() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS)
        reply.finish()
        await at(LEAD_S + 0.1)
        reply.pause()
        await at(LEAD_S + 0.2)
        reply.resume()
        assert reply.heard_ms() == 200
        await task
    assert now() == pytest.approx(LEAD_S + 0.6 + DELAY_S)


@on_virtual_time
async def test_a_long_pause_is_silent_when_the_device_has_played_what_it_had() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(600 * DIGITS)
        await reply.say(LETTERS)
        reply.finish()
        reply.resume()
        await at(LEAD_S + 0.1)
        reply.pause()
        await at(LEAD_S + 3.0)
        assert len(reply.device.packets) == 7
        assert reply.heard_ms() == 420
        assert reply.heard_text() == 420 * DIGITS
        reply.resume()
        assert reply.heard_ms() == 420
        await task
    assert now() == pytest.approx(LEAD_S + 3.0 + 1.2 - 0.42 + DELAY_S)
    assert reply.counters.get("pacer.starved") == 0


@on_virtual_time
@pytest.mark.parametrize("more", [-0.01, 0.01])
async def test_behind_a_very_long_pause_the_sentence_begins_again(more: float) -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS)
        await reply.say(LETTERS)
        reply.finish()
        await at(LEAD_S + 0.7)
        reply.pause()
        await at(LEAD_S + 1.02 + AGAIN_S + more)
        assert reply.device.packets == [*packets_of(10), *packets_of(7)]
        assert reply.heard_text() == f"{DIGITS} {LETTERS[:7]}"
        reply.resume()
        assert reply.heard_text() == f"{DIGITS} {LETTERS[:7]}", "it has been heard"
        await task
        assert reply.heard_text() == f"{DIGITS} {LETTERS}"
    rest = packets_of(10)[0 if more > 0 else 7 :]
    assert reply.device.packets == [*packets_of(10), *packets_of(7), *rest]
    assert [each.text for each in reply.device.all("sentence")] == [DIGITS, LETTERS]
    end = LEAD_S + 1.02 + AGAIN_S + more + len(rest) * PACKET_MS / 1000 + DELAY_S
    assert now() == pytest.approx(end)
    assert reply.counters.get("pacer.starved") == 0


@on_virtual_time
async def test_what_the_device_drops_is_played_when_it_goes_on() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS)
        await reply.say(LETTERS)
        reply.finish()
        await at(LEAD_S + 0.40)
        assert len(reply.device.packets) == 13
        reply.pause()
        await reply.silence()
        # 60 ms later the packet that sounds is the eighth.
        assert reply.plays_until == pytest.approx(LEAD_S + 0.48)
        await at(LEAD_S + 1.0)
        assert [each.kind for each in reply.device.sent[-2:]] == ["stop", "start"]
        assert reply.heard_ms() == 480
        assert reply.heard_text() == DIGITS[:8]
        reply.resume()
        await task
        assert reply.heard_text() == f"{DIGITS} {LETTERS}"
    again = [*packets_of(10)[8:], *packets_of(10)]
    assert reply.device.packets == [*packets_of(10), *packets_of(3), *again]
    assert reply.device.texts() == [DIGITS, LETTERS]  # the second was not due yet
    assert reply.begun == [(DIGITS, True), (LETTERS, True)]
    assert now() == pytest.approx(LEAD_S + 1.0 + 0.72 + DELAY_S)
    assert reply.counters.get("pacer.starved") == 0


@on_virtual_time
async def test_the_device_has_dropped_it_before_it_is_sent_again() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS)
        reply.finish()
        await at(LEAD_S + 0.1)
        reply.pause()
        await reply.silence()
        reply.resume()
        await task
    (*_, again) = reply.device.all("start")
    first = next(at for at, _ in reply.device.writes if at > again.at)
    assert first == pytest.approx(again.at + LEAD_S)
    assert reply.counters.get("pacer.starved") == 0


@on_virtual_time
async def test_the_last_words_are_played_if_a_voice_came_over_them() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS)
        reply.finish()
        await at(LEAD_S + 0.40)
        assert len(reply.device.packets) == 10, "all are at the device"
        reply.pause()
        await reply.silence()
        await at(LEAD_S + 2.0)
        assert not task.done()
        reply.resume()
        await task
        assert reply.heard_text() == DIGITS
    assert reply.device.packets == [*packets_of(10), *packets_of(10)[8:]]
    assert now() == pytest.approx(LEAD_S + 2.0 + 0.12 + DELAY_S)


@on_virtual_time
async def test_a_second_voice_right_behind_the_first() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(2 * DIGITS, packets=20)
        reply.finish()
        await at(LEAD_S + 0.40)
        for seconds in (0.01, 0.05, 0.1):
            reply.pause()
            await reply.silence()
            reply.resume()
            await asyncio.sleep(seconds)
        await task
    (*_, again) = reply.device.all("start")
    sent = [at for at, _ in reply.device.writes if at > LEAD_S + 0.40]
    assert sent[0] >= again.at + LEAD_S - 1e-9
    assert reply.device.packets[-12:] == packets_of(20)[8:]


@on_virtual_time
async def test_nothing_is_dropped_where_nothing_waits_at_the_device() -> None:
    reply = Reply()
    async with reply.running():
        await reply.silence()
        reply.pause()
        await reply.silence()
        await reply.say(DIGITS)
        reply.resume()
        await at(60.0)
        await reply.silence()
        reply.pause()
        await reply.silence()
    assert len(reply.device.all("start")) == 1


@on_virtual_time
async def test_behind_a_very_long_pause_between_sentences_none_is_said_twice() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS, packets=5)
        reply.pause()
        await reply.say(LETTERS, packets=5)
        reply.finish()
        await at(60.0)
        reply.resume()
        await task
    assert len(reply.device.packets) == 10


@on_virtual_time
async def test_a_pause_before_the_first_packet() -> None:
    reply = Reply()
    reply.pause()
    async with reply.running() as task:
        await reply.say(DIGITS)
        await at(1.0)
        assert reply.device.sent == []
        reply.resume()
        reply.finish()
        await task
    assert reply.device.packets == packets_of(10)
