"""Commands from the cluster, carried out by the sessions of a host."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

import pytest

from tests.session.conversation import Conversation
from tests.session.hosted import BOUND, DEVICE, hosted
from tests.support.waiting import until
from vixio.core.chunk import TextInput
from vixio.core.cluster import ClusterUnavailable, Lease, LeaseLost, Leases, LossReason, OnLost
from vixio.core.commands import (
    Ask,
    Close,
    CommandResult,
    CommandStatus,
    Custom,
    Interrupt,
    Reconfigure,
    Say,
)
from vixio.core.device import DeviceProfile
from vixio.core.local_cluster import LocalCluster
from vixio.core.session.events import SessionClosed, SessionOpened
from vixio.core.session.session import Session
from vixio.core.tools.types import JsonObject
from vixio.testing import ScriptedTTS


async def test_a_text_is_spoken_and_what_was_heard_comes_back() -> None:
    cluster = LocalCluster()
    async with hosted(cluster=cluster) as made:
        device = await made.connect()
        result = await cluster.commands.send(DEVICE, Say("Dinner is ready.", wait=True))
        assert result.value == {"status": "played", "heard": "Dinner is ready."}
        assert device.texts() == ["Dinner is ready."]


async def test_a_question_is_answered_at_the_device() -> None:
    cluster = LocalCluster()
    async with hosted(cluster=cluster) as made:
        device = await made.connect()
        result = await cluster.commands.send(DEVICE, Ask("who are you", wait=True))
        assert result.value == {"status": "played", "heard": "You said who are you."}
        assert device.texts() == ["You said who are you."]


async def test_a_speech_that_is_not_waited_for_is_an_answer_at_once() -> None:
    cluster = LocalCluster()
    async with hosted(cluster=cluster) as made:
        device = await made.connect()
        assert await cluster.commands.send(DEVICE, Say("Dinner.")) == CommandResult(
            CommandStatus.DONE
        )
        assert device.texts() == []
        await device.wait_for("stop")
        assert device.texts() == ["Dinner."]


@pytest.mark.slow
async def test_the_end_of_the_wait_does_not_end_the_speech() -> None:
    cluster = LocalCluster()
    talk = Conversation(tts=ScriptedTTS(seconds_per_char=0.1))
    async with hosted(talk, cluster) as made:
        device = await made.connect()
        result = await cluster.commands.send(DEVICE, Say("A long text.", wait=True), timeout=0.1)
        assert result.status is CommandStatus.TIMED_OUT
        assert device.all("stop") == []
        await device.wait_for("stop")
        assert made.host.sessions.find(DEVICE) is not None


async def test_a_reply_is_interrupted() -> None:
    cluster = LocalCluster()
    talk = Conversation(tts=ScriptedTTS(seconds_per_char=0.1))
    async with hosted(talk, cluster) as made:
        device = await made.connect()
        said = asyncio.create_task(
            cluster.commands.send(DEVICE, Say("A long text.", wait=True), timeout=BOUND)
        )
        await device.wait_for("audio")
        assert (await cluster.commands.send(DEVICE, Interrupt())).ok
        assert (await said).value["status"] == "interrupted"


async def test_a_profile_changes_by_field_or_is_looked_up_anew() -> None:
    cluster = LocalCluster()
    async with hosted(cluster=cluster) as made:
        session = await made.session(await made.connect())
        assert (await cluster.commands.send(DEVICE, Reconfigure({"language": "de"}))).ok
        await until(lambda: session.profile == DeviceProfile(name="Kitchen", language="de"))
        made.profile = DeviceProfile(name="Bedroom")
        assert (await cluster.commands.send(DEVICE, Reconfigure())).ok
        await until(lambda: session.profile == DeviceProfile(name="Bedroom"))


async def test_changes_by_field_add_up_while_the_first_is_not_in_force_yet() -> None:
    cluster = LocalCluster()
    async with hosted(cluster=cluster) as made:
        session = await made.session(await made.connect())
        made.ready.clear()
        assert (await cluster.commands.send(DEVICE, Reconfigure({"language": "de"}))).ok
        await until(lambda: session.next_profile == DeviceProfile(name="Kitchen", language="de"))
        assert (await cluster.commands.send(DEVICE, Reconfigure({"place": "Bonn"}))).ok
        both = DeviceProfile(name="Kitchen", language="de", place="Bonn")
        await until(lambda: session.next_profile == both)
        assert session.profile == DeviceProfile(name="Kitchen")
        made.ready.set()
        await until(lambda: session.profile == both)


async def test_a_connection_is_closed() -> None:
    cluster = LocalCluster()
    async with hosted(cluster=cluster) as made:
        device = await made.connect()
        assert (await cluster.commands.send(DEVICE, Close("enough"))).ok
        assert device.texts(["close"]) == ["1000 enough"]
        await until(lambda: not cluster.presence.where(DEVICE))
        result = await cluster.commands.send(DEVICE, Close())
        assert result.status is CommandStatus.NOT_CONNECTED


async def test_an_extension_has_commands_of_its_own() -> None:
    cluster = LocalCluster()
    async with hosted(cluster=cluster) as made:
        await made.connect()

        async def blink(session: Session, arguments: JsonObject) -> object:
            return [session.device_id, arguments["times"]]

        made.host.commands.register("blink", blink)
        result = await cluster.commands.send(DEVICE, Custom("blink", {"times": 3}))
        assert result.value == [DEVICE, 3]
        result = await cluster.commands.send(DEVICE, Custom("wink"))
        assert result.status is CommandStatus.FAILED
        assert "wink" in result.message


async def test_a_command_waits_while_the_session_is_set_up() -> None:
    cluster = LocalCluster()
    async with hosted(cluster=cluster) as made:
        made.ready.clear()
        device = made.transport.connect()
        await until(lambda: cluster.presence.where(DEVICE))
        result = await cluster.commands.send(DEVICE, Interrupt(), timeout=0.05)
        assert result.status is CommandStatus.TIMED_OUT
        sent = asyncio.create_task(cluster.commands.send(DEVICE, Say("Hello.")))
        made.ready.set()
        assert (await sent).ok
        await device.wait_for("stop")


async def test_a_newer_connection_ends_the_older_session_first() -> None:
    async with hosted() as made:
        older = made.transport.connect()
        await made.session(older)
        older.put(TextInput("hello"))
        await older.wait_for("audio")
        newer = made.transport.connect()
        session = await made.session(newer)
        assert older.sent[-1].text == "4001 replaced by a newer connection"
        lives = [
            (type(event), event.session_id)
            for event in made.happened
            if isinstance(event, SessionOpened | SessionClosed)
        ]
        assert lives == [
            (SessionOpened, older.session_id),
            (SessionClosed, older.session_id),
            (SessionOpened, newer.session_id),
        ]
        assert made.host.sessions.find(DEVICE) is session
        newer.put(TextInput("hello"))
        await newer.wait_for("stop")


async def test_a_session_that_does_not_end_does_not_act_any_more() -> None:
    """A command reaches the newer session only, even while the older one hangs."""
    cluster = LocalCluster(release_timeout=0.05)
    async with hosted(cluster=cluster) as made:
        older = made.transport.connect()
        hung = await made.session(older)
        release = asyncio.Event()

        begun: list[bool] = []

        async def never_ends() -> None:
            begun.append(True)
            await release.wait()

        hung.context.spawn(_shielded(never_ends()))
        await until(lambda: begun)
        made.ready.clear()
        newer = made.transport.connect()
        await until(lambda: made.making == 2)  # the newer one has the lease, and no session yet
        assert made.host.sessions.find(DEVICE) is hung
        said = asyncio.create_task(cluster.commands.send(DEVICE, Say("For the newer one.")))
        made.ready.set()
        assert (await said).ok
        await newer.wait_for("stop")
        assert older.texts() == []
        release.set()


async def _shielded(work: Coroutine[None, None, None]) -> None:
    """Go on through a cancellation, as a tool that cleans up does."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue


class NoLeases(Leases):
    """Every lease is lost to a newer connection, or cannot be had."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def acquire(self, device_id: str, on_lost: OnLost) -> Lease:
        raise self._error


async def test_a_connection_without_a_lease_is_closed() -> None:
    for error, close in (
        (LeaseLost("again"), "4001 replaced by a newer connection"),
        (ClusterUnavailable("gone"), "1013 try again later"),
    ):
        cluster = LocalCluster()
        cluster.leases = NoLeases(error)
        async with hosted(cluster=cluster) as made:
            device = made.transport.connect()
            await device.wait_for("close")
            assert device.texts(["close"]) == [close]
            assert not made.happened


async def test_a_lease_that_expires_ends_the_session() -> None:
    cluster = LocalCluster()
    async with hosted(cluster=cluster) as made:
        device = await made.connect()
        await made.session(device)
        lease = cluster.leases._held[DEVICE]  # type: ignore[attr-defined]
        lease.lose(LossReason.EXPIRED)
        await device.wait_for("close")
        assert device.texts(["close"]) == ["1001 the server was unresponsive"]
