"""Who a device is: tokens before the upgrade, and the same device twice."""

from __future__ import annotations

import asyncio

import pytest

from firmware_test_client import ConnectError, Disconnected, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well, received, what
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from tests.support.waiting import until
from vixio.core.history import AssistantMessage, UserMessage
from vixio.testing import ScriptedAgentBackend, ScriptedTTS
from vixio.transports.admission.auth import TokenAuthenticator
from vixio.web.http.ota import NONE_NEEDED

SECRET = "a secret for this test alone"
DEVICE, CLIENT = "02:00:00:00:00:0a", "client-a"


async def test_with_authentication_only_the_token_of_ota_opens_the_door() -> None:
    config = settings(server={"auth": {"enabled": True, "secret": SECRET}})
    yesterday = TokenAuthenticator(SECRET, 60, clock=lambda: 1_000_000.0)
    stranger = TokenAuthenticator("another secret, also long enough")
    issuer = TokenAuthenticator(SECRET)
    refused = {
        "missing": None,
        "wrong": "1999999999." + "A" * 43,
        "no token at all": "rubbish",
        "expired": yesterday.issue(DEVICE, CLIENT),
        "of another secret": stranger.issue(DEVICE, CLIENT),
        "of another device": issuer.issue("02:00:00:00:00:0b", CLIENT),
        "of another client": issuer.issue(DEVICE, "client-b"),
    }
    async with serving(config, asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server:
        for why, token in refused.items():
            who = {"device_id": DEVICE, "client_id": CLIENT}
            device = SimulatedDevice(server.device(ws_url=server.ws_url, token=token, **who))
            with pytest.raises(ConnectError) as error:
                await device.start()
            assert error.value.status == 401, why
        assert server.count("admission.refused.token_missing") == 1
        assert server.count("admission.refused.token_expired") == 1
        assert server.count("admission.refused.token_wrong") == len(refused) - 2
        assert not server.app.host.sessions

        async with SimulatedDevice(server.device(device_id=DEVICE, client_id=CLIENT)) as device:
            assert device.ota is not None
            assert device.ota.token
            reply = await device.type_text("good morning")
            assert reply.text == "You said good morning."


async def test_without_authentication_the_token_opens_nothing() -> None:
    async with (
        serving(asr=WaveformASR({}), agent=ScriptedAgentBackend()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        assert device.ota is not None
        assert device.ota.token == NONE_NEEDED


async def test_the_same_device_twice() -> None:
    """The older connection is closed and its reply with it; the memory is kept and used."""
    backend = ScriptedAgentBackend(
        lambda text: ("One two three four five six seven. " * 20,) if text == "talk" else ("Yes.",)
    )
    tts = ScriptedTTS()
    async with serving(asr=WaveformASR({}), agent=backend, tts=tts) as server:
        config = server.device(device_id=DEVICE)
        async with SimulatedDevice(config) as older, SimulatedDevice(config) as newer:
            # Two objects play one device: the newer stands for it after a loss of the network.
            await newer.disconnect()
            await until(lambda: not server.app.host.sessions, what="no session")
            await older.connect()
            await older.type_text("remember me")
            talking = asyncio.create_task(older.type_text("talk"))
            await older.wait_for_frame("audio", since=len(older.frames))

            await newer.connect()
            close = await older.wait_for_close()
            assert close.code == 4001
            assert close.reason
            with pytest.raises(Disconnected):
                await talking
            await until(
                lambda: len(server.app.host.sessions) == 1 and not tts.running,
                what="the older session's end",
            )
            assert sum(agent.running for agent in backend.agents) == 0
            assert server.count("xiaozhi.closed.replaced") >= 1

            reply = await newer.type_text("again")
            assert reply.text == "Yes."
            assert_played_well(reply)
            request = backend.agents[-1].requests[-1]
            users = [item for item in request.history if isinstance(item, UserMessage)]
            assert users == [UserMessage("remember me"), UserMessage("talk")]
            heard = [item for item in request.history if isinstance(item, AssistantMessage)]
            assert heard[0].text == "Yes."
            assert len(heard) <= 2
            for cut in heard[1:]:
                assert len(cut.text) < 60, "one sentence at most was heard"
            kinds = [what(frame) for frame in received(newer)]
            assert kinds.count("tts start") == 1, "nothing of the older reply is spoken here"
            assert_nothing_wrong(newer)
            assert_nothing_wrong(older)
