"""What a pacer sends when, and what of it was heard, on the virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tests.session.conversation import on_virtual_time
from vixio.core.clock import now
from vixio.core.metrics import Counters
from vixio.core.pacer import Pacer, PacerSettings
from vixio.testing import ManualConnection

PACKET_MS = 60
LEAD_S = PacerSettings().start_lead_ms / 1000
DELAY_S = PacerSettings().device_delay_ms / 1000
DIGITS = "0123456789"
LETTERS = "abcdefghij"
"""A sentence of ten packets: a character each."""


class Device(ManualConnection):
    """Keeps the packets of each write; ``takes``: seconds that a send of a kind needs."""

    def __init__(self, **takes: float) -> None:
        super().__init__()
        self.takes = takes
        self.writes: list[tuple[float, list[bytes]]] = []

    async def send_speech_start(self) -> None:
        await asyncio.sleep(self.takes.get("start", 0.0))
        await super().send_speech_start()

    async def send_sentence(self, text: str) -> None:
        await asyncio.sleep(self.takes.get("sentence", 0.0))
        await super().send_sentence(text)

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        await asyncio.sleep(self.takes.get("audio", 0.0))
        self.writes.append((now(), list(packets)))
        await super().send_audio(packets, timestamp_ms)

    @property
    def packets(self) -> list[bytes]:
        """Return all that were sent."""
        return [packet for _, packets in self.writes for packet in packets]


class Reply(Pacer):
    """A pacer of a device, with its counters; the sentences that were begun are noted."""

    def __init__(
        self,
        device: Device | None = None,
        packet_ms: int = PACKET_MS,
        settings: PacerSettings | None = None,
        before: Pacer | None = None,
    ) -> None:
        self.device = device or Device()
        self.counters = Counters()
        settings = settings or PacerSettings()
        super().__init__(self.device, self.counters, packet_ms, settings, before)
        self.begun: list[tuple[str, bool]] = []
        self.on_sentence = lambda text, kept: self.begun.append((text, kept))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """Run, and stop at the end."""
        task = asyncio.create_task(self.run())
        yield task
        self.stop()
        await task

    async def say(self, text: str, packets: int = 10, *, kept: bool = True) -> None:
        """Put a sentence and its packets."""
        await self.put_sentence(text, kept=kept)
        await self.put_packets(packets_of(packets))


def packets_of(count: int) -> list[bytes]:
    return [str(number).encode() for number in range(count)]


async def at(seconds: float) -> None:
    """Wait until the clock, which begins at 0, is there."""
    await asyncio.sleep(seconds - now())


@on_virtual_time
async def test_the_first_packet_follows_the_start_by_the_lead() -> None:
    reply = Reply(Device(start=0.1))
    assert (reply.started_at, reply.first_frame_at) == (None, None)
    async with reply.running() as task:
        await reply.say(DIGITS)
        reply.finish()
        await at(0.05)
        assert reply.started, "the stop is due even if the start is still being sent"
        await task
    (start,), (sentence,) = reply.device.all("start"), reply.device.all("sentence")
    assert start.at == reply.started_at == pytest.approx(0.1)
    assert sentence.text == DIGITS
    assert reply.first_frame_at == reply.device.writes[0][0] == pytest.approx(0.1 + LEAD_S)
    assert reply.device.packets == packets_of(10)
    assert now() == pytest.approx(0.1 + LEAD_S + 0.6 + DELAY_S)
    assert reply.begun == [(DIGITS, True)]


@on_virtual_time
async def test_an_announced_start_is_sent_once_and_at_once() -> None:
    reply = Reply()
    async with reply.running() as task:
        reply.announce()
        await at(1.0)
        assert [sent.at for sent in reply.device.all("start")] == [0.0]
        await reply.say(DIGITS)
        reply.finish()
        await task
    assert len(reply.device.all("start")) == 1
    assert reply.first_frame_at == pytest.approx(1.0)
    assert reply.held == 0.0


@on_virtual_time
async def test_how_long_the_first_packet_was_held() -> None:
    reply = Reply()
    async with reply.running():
        reply.announce()
        await at(0.02)
        await reply.put_packets([])
        await at(0.05)
        await reply.put_packets([b"0"])
        await at(0.1)
        await reply.put_packets([b"1"])
        assert reply.held == pytest.approx(LEAD_S - 0.05)


@on_virtual_time
async def test_packets_go_in_pairs_behind_a_head_start() -> None:
    reply = Reply(settings=PacerSettings(buffer_ms=1_000_000))
    async with reply.running() as task:
        await reply.put_packets(packets_of(2_000))
        reply.finish()
        await task
    first, *others = [len(packets) for _, packets in reply.device.writes]
    assert first == 7
    assert set(others[:-1]) == {2}


@pytest.mark.parametrize(("head_start_ms", "at_once"), [(749, 2), (750, 3)])
@on_virtual_time
async def test_what_is_due_soon_is_sent_along(head_start_ms: int, at_once: int) -> None:
    settings = PacerSettings(start_lead_ms=0, head_start_ms=head_start_ms, buffer_ms=60_000)
    reply = Reply(packet_ms=1_000, settings=settings)
    async with reply.running():
        await reply.put_packets(packets_of(10))
        await at(0.1)
        assert reply.device.writes[0][1] == packets_of(at_once)


@on_virtual_time
async def test_a_writer_waits_for_room() -> None:
    reply = Reply(settings=PacerSettings(buffer_ms=120))
    writer = asyncio.create_task(reply.put_packets(packets_of(12)))
    await at(1.0)
    assert reply.unsent_ms == 120
    assert not writer.done()
    async with reply.running() as task:
        await writer
        reply.finish()
        await task
    assert reply.device.packets == packets_of(12)


@on_virtual_time
async def test_what_is_held_back_is_asked_for_in_time() -> None:
    reply = Reply()
    left = [[b"more"], [b"and", b"more"]]
    asked: list[int] = []

    def more() -> list[bytes]:
        asked.append(reply.unsent_ms)
        return left.pop(0) if left else []

    reply.more = more
    async with reply.running() as task:
        await reply.put_packets(packets_of(5))
        reply.finish()
        await task
    assert asked == [180, 180, 180, 120, 60, 0]
    assert reply.device.packets == [*packets_of(5), b"more", b"and", b"more"]
    assert reply.unsent_ms == 0


@on_virtual_time
async def test_what_was_heard_is_cut_where_the_loudspeaker_is() -> None:
    reply = Reply()
    async with reply.running() as task:
        assert (reply.heard_ms(), reply.heard_text()) == (0, "")
        await reply.put_sentence(DIGITS)
        await reply.put_packets(packets_of(10))
        await reply.say(LETTERS)
        reply.finish()
        assert reply.put_sentences == 2
        for seconds, text in [
            (0.0, ""),
            (0.06, "0"),
            (0.3, "01234"),
            (0.6, DIGITS),
            (0.72, f"{DIGITS} ab"),
            (1.2, f"{DIGITS} {LETTERS}"),
        ]:
            await at(LEAD_S + seconds)
            assert reply.heard_ms() == round(seconds * 1000)
            assert reply.heard_text() == text
            assert reply.heard_text(1) == text[:10]
            assert reply.heard_text(0) == ""
        await task
        assert reply.heard_ms() == 1_200


@on_virtual_time
async def test_the_share_of_a_sentence_is_that_of_its_audio() -> None:
    reply = Reply()
    async with reply.running():
        await reply.say("x" * 6_000)
        await reply.say("y" * 6_000)
        await reply.say("z" * 6_000)
        await at(LEAD_S + 0.9)
        assert reply.heard_text() == "x" * 6_000 + " " + "y" * 3_000
        reply.pause()
        await at(60.0)
        assert reply.plays_until == pytest.approx(LEAD_S + 1.26)
        assert reply.heard_text() == " ".join(("x" * 6_000, "y" * 6_000, "z" * 600))


@on_virtual_time
@pytest.mark.parametrize("before", [0, 10])
async def test_the_share_of_a_sentence_that_is_still_being_made(before: int) -> None:
    """60 ms a letter are usual, and 120 ms if a sentence of ten letters took 1.2 s."""
    reply = Reply()
    async with reply.running():
        if before:
            await reply.say(DIGITS, packets=2 * before)
        await reply.say(10 * DIGITS, packets=10)
        await at(LEAD_S + 0.12 * before + 0.54)
        heard = reply.heard_text().removeprefix(DIGITS if before else "").strip()
        assert len(heard) == (4 if before else 9), "and not nine letters of ten"
        await at(60.0)
        assert reply.heard_text().endswith(10 * DIGITS), "there is a pause: no more will come"


@on_virtual_time
async def test_the_share_of_a_sentence_in_chinese() -> None:
    reply = Reply()
    async with reply.running():
        await reply.say("从前在一个小岛上有一座灯塔", packets=12)
        await at(LEAD_S + 0.54)
        assert reply.heard_text() == "从前在"


@on_virtual_time
async def test_a_sentence_whose_audio_has_not_come_is_not_heard() -> None:
    reply = Reply()
    async with reply.running():
        await reply.say("", packets=0)
        await reply.say(DIGITS)
        await reply.say(LETTERS, packets=0)
        await at(60.0)
        assert reply.heard_text() == DIGITS


@on_virtual_time
async def test_a_sentence_without_audio_counts_once_the_next_is_heard() -> None:
    reply = Reply()
    async with reply.running():
        await reply.say("Hm", packets=0)
        await reply.say(DIGITS)
        await at(LEAD_S + 0.001)
        assert reply.heard_text() == "Hm"


@on_virtual_time
async def test_what_broke_off_or_only_bridges_a_pause_is_not_heard() -> None:
    reply = Reply()
    reply.break_off()
    async with reply.running() as task:
        await reply.say("One moment.", kept=False)
        await reply.say(DIGITS)
        reply.break_off()
        await reply.say(LETTERS)
        reply.finish()
        await task
        assert reply.heard_text() == LETTERS
        assert reply.begun == [("One moment.", False), (DIGITS, True), (LETTERS, True)]


@on_virtual_time
async def test_what_breaks_off_is_the_sentence_and_not_the_bridge_behind_it() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS)
        await reply.say("I'm still working on it.", kept=False)
        reply.break_off()
        await reply.say(LETTERS)
        reply.finish()
        await task
        assert reply.heard_text() == LETTERS


@on_virtual_time
async def test_the_packet_that_sounds() -> None:
    reply = Reply()
    async with reply.running() as task:
        assert reply.sounding_until() == 0.0
        await reply.say(DIGITS)
        reply.finish()
        for seconds, until in [(0.001, 0.06), (0.059, 0.06), (0.06, 0.12), (0.55, 0.6)]:
            await at(LEAD_S + seconds)
            assert reply.sounding_until() == pytest.approx(LEAD_S + until)
        await at(LEAD_S + 0.6)
        assert reply.sounding_until() == 0.0
        await task


@on_virtual_time
async def test_a_reply_sounds_behind_the_last_packet_of_the_one_before() -> None:
    before = Reply()
    async with before.running():
        await before.say(DIGITS)
        await at(LEAD_S + 0.09)
        before.stop()
        reply = Reply(settings=PacerSettings(start_lead_ms=0), before=before)
        async with reply.running():
            await reply.say(LETTERS)
            await at(LEAD_S + 0.1)
            assert reply.first_frame_at == pytest.approx(LEAD_S + 0.09)
            assert reply.heard_ms() == 0
            await at(LEAD_S + 0.15)
            assert reply.heard_ms() == 30


@on_virtual_time
async def test_audio_that_comes_too_late_moves_the_rest() -> None:
    reply = Reply()
    async with reply.running():
        await reply.say(2 * DIGITS, packets=20)
        await at(LEAD_S + 2.0)
        assert reply.heard_ms() == 1_200
        await reply.put_packets(packets_of(10))
        await asyncio.sleep(0.0)
        await asyncio.sleep(0.0)
        assert reply.counters.get("pacer.starved") == 1
        assert reply.heard_ms() == 1_200
        await at(LEAD_S + 2.3)
        assert reply.heard_ms() == 1_500
        assert reply.plays_until == pytest.approx(LEAD_S + 2.6)


@on_virtual_time
async def test_a_stop_waits_for_nothing_but_the_send_in_progress() -> None:
    reply = Reply(Device(audio=0.05))
    async with reply.running() as task:
        await reply.say(DIGITS)
        await at(LEAD_S + 0.01)
        reply.stop()
        assert not task.done()
        await reply.stopped()
        assert now() == pytest.approx(LEAD_S + 0.05)
        await task
        assert now() == pytest.approx(LEAD_S + 0.05)
        await reply.stopped()


@on_virtual_time
async def test_a_sentence_whose_send_was_overtaken_by_the_stop_is_not_begun() -> None:
    reply = Reply(Device(sentence=0.05))
    async with reply.running():
        await reply.say(DIGITS)
        await at(0.01)
    assert reply.device.all("sentence")
    assert reply.begun == []


@on_virtual_time
async def test_nobody_has_to_know_of_the_sentences() -> None:
    device = Device()
    pacer = Pacer(device, Counters(), PACKET_MS)
    await pacer.put_sentence(DIGITS)
    pacer.finish()
    await pacer.run()
    assert device.texts() == [DIGITS]


@on_virtual_time
async def test_a_reply_without_audio_ends_at_once() -> None:
    reply = Reply()
    async with reply.running() as task:
        await reply.say(DIGITS, packets=0)
        reply.finish()
        await task
    assert now() == 0.0
    assert reply.plays_until == 0.0


@pytest.mark.parametrize("asked_at", [0.0, LEAD_S + 0.1])
@on_virtual_time
async def test_a_reply_that_ends_with_its_sentence(asked_at: float) -> None:
    reply = Reply()
    ended: list[float] = []
    async with reply.running() as task:
        if asked_at:
            await reply.say(DIGITS)
            await reply.say(LETTERS)
            await at(asked_at)
            reply.end_with_sentence(lambda: ended.append(now()))
        else:
            reply.end_with_sentence(lambda: ended.append(now()))
            await reply.say(DIGITS)
            await reply.say(LETTERS)
        await at(60.0)
        assert ended == [pytest.approx(LEAD_S + 0.6 + DELAY_S)]
        assert not task.done(), "the stop is the caller's"
    assert reply.device.texts() == [DIGITS]
    assert reply.heard_text() == DIGITS
