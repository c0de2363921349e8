"""Photos: a device's camera, the vision endpoint and a vision model, and their failures."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from firmware_test_client.mcp.camera import explain
from firmware_test_client.mcp.photo import PHOTO
from firmware_test_client.mcp.server import Vision
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.llm_server import Call, LLMServer, calls, failure, text, whole
from tests.support.waiting import until
from vixio.core.errors import ProviderError
from vixio.providers.vision import Photo, VisionProvider
from vixio.testing import ScriptedAgentBackend, ScriptedTTS

TAKE_PHOTO = "self_camera_take_photo"


@asynccontextmanager
async def seeing(
    viewer: LLMServer, thoughts: LLMServer | None = None, **more: dict[str, Any]
) -> AsyncIterator[RunningServer]:
    config = settings(
        agent={"name": "openai", "model": "m", "base_url": thoughts.base_url}
        if thoughts is not None
        else {},
        vision={"name": "openai", "model": "vision", "base_url": viewer.base_url, "retries": 0},
        **more,
    )
    agent = None if thoughts is not None else ScriptedAgentBackend()
    voice = ScriptedTTS(seconds_per_char=0.002)
    async with serving(config, asr=WaveformASR({}), agent=agent, tts=voice) as server:
        yield server


@asynccontextmanager
async def camera(server: RunningServer) -> AsyncIterator[SimulatedDevice]:
    async with SimulatedDevice(server.device(camera=True)) as device:
        await until(lambda: device.mcp.vision is not None, what="the server's greeting")
        yield device


async def post(device: SimulatedDevice, photo: bytes = PHOTO, **changed: str) -> tuple[int, str]:
    """Post a photo as the firmware does, with changed headers."""
    vision = device.mcp.vision
    assert vision is not None
    headers = {
        "Device-Id": device.config.device_id,
        "Authorization": f"Bearer {vision.token}",
        "Content-Type": "multipart/form-data; boundary=B",
        **{name.replace("_", "-"): value for name, value in changed.items()},
    }
    body = (
        b'--B\r\nContent-Disposition: form-data; name="question"\r\n\r\nwhat is it?\r\n'
        b'--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        + photo
        + b"\r\n--B--\r\n"
    )

    def send() -> tuple[int, str]:
        host = vision.url.split("/")[2]
        connection = http.client.HTTPConnection(host, timeout=60)
        try:
            connection.request("POST", "/mcp/vision/explain", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    return await asyncio.to_thread(send)


async def test_what_the_camera_sees_reaches_the_conversation() -> None:
    async with LLMServer() as viewer, LLMServer() as thoughts:
        viewer.script(whole("<think>hm</think>A chess board."))
        thoughts.script(
            calls(Call("call_1", TAKE_PHOTO, '{"question": "what is on the table?"}')),
            text("I see a chess board."),
        )
        async with seeing(viewer, thoughts) as server, camera(server) as device:
            await device.wait_for_frame(
                "mcp",
                direction="out",
                where=lambda frame: "tools" in (frame.body or {})["payload"].get("result", {}),
            )
            await device.ping()  # whatever was sent before it has been read
            reply = await device.type_text("what is on the table")
            assert reply.text == "I see a chess board."
            assert device.violations == []
            assert server.count("vision.answered") == 1
        asked = viewer.requests[0]
        assert asked["model"] == "vision"
        question, image = asked["messages"][-1]["content"]
        assert question["text"] == "what is on the table?"
        assert image["image_url"]["url"].startswith("data:image/jpeg;base64,/9j/")
        assert "A chess board." in thoughts.requests[1]["messages"][-1]["content"]
        assert "think" not in thoughts.requests[1]["messages"][-1]["content"]


async def test_only_the_device_itself_and_only_during_its_session() -> None:
    async with LLMServer() as viewer, seeing(viewer) as server:
        async with camera(server) as device:
            assert (await post(device, Device_Id="02:00:00:00:00:99"))[0] == 401
            assert (await post(device, Authorization="Bearer nonsense"))[0] == 401
            assert (await post(device, Authorization=""))[0] == 401
            vision = device.mcp.vision
            async with SimulatedDevice(server.device(camera=True)) as other:
                await until(lambda: other.mcp.vision is not None, what="the other's greeting")
                assert other.mcp.vision is not None
                token = other.mcp.vision.token
                assert (await post(device, Authorization=f"Bearer {token}"))[0] == 401
            viewer.script(whole("A lamp."))
            assert await post(device) == (200, "A lamp.")
        await until(lambda: not server.app.host.sessions, what="the end of the session")
        assert vision is not None
        with pytest.raises(RuntimeError, match="Failed to upload photo"):
            await explain(device.config, vision, "and now?", PHOTO)
        assert server.count("vision.refused.token_over") == 1
        assert len(viewer.requests) == 1


async def test_what_is_no_photo_is_refused_and_never_sent_on() -> None:
    limits = {"limits": {"photos_per_device": 5}}
    async with LLMServer() as viewer, seeing(viewer, server=limits) as server:
        async with camera(server) as device:
            assert (await post(device, b"#!/bin/sh\n" + bytes(200)))[0] == 415
            assert (await post(device, PHOTO[:-20]))[0] == 415
            status, why = await post(device, PHOTO + bytes(1024 * 1024) + b"\xff\xd9")
            assert status == 413
            assert why == "the photo has more than 1048576 bytes\n"
            assert (await post(device, Content_Type="image/jpeg"))[0] == 415
            assert (await post(device, b""))[0] == 400
            assert (await post(device))[0] == 429
        assert viewer.requests == []


async def test_the_user_is_told_why_nothing_was_seen() -> None:
    async with LLMServer() as viewer, seeing(viewer) as server, camera(server) as device:
        viewer.script(failure(401, "bad key sk-secret-secret"), failure(500, "broken"))
        status, first = await post(device)
        assert status == 200
        assert first == (
            "The photo was taken, but could not be looked at: "
            "the vision service refuses the server's key."
        )
        status, second = await post(device)
        assert (status, second.endswith("the vision service failed.")) == (200, True)
        assert server.count("vision.failed") == 2


async def test_without_a_vision_service_none_is_offered() -> None:
    async with (
        serving(asr=WaveformASR({}), agent=ScriptedAgentBackend(), tts=ScriptedTTS()) as server,
        SimulatedDevice(server.device(camera=True)) as device,
    ):
        await device.wait_for_frame(
            "mcp",
            direction="out",
            where=lambda frame: "tools" in (frame.body or {})["payload"].get("result", {}),
        )
        assert device.mcp.vision is None
        device.mcp.vision = Vision(f"{server.http_url}/mcp/vision/explain", "x")
        assert (await post(device))[0] == 404


class SlowVision(VisionProvider):
    """Looks at photos once it has loaded, which it does when the test says so."""

    name = "slow"

    def __init__(self) -> None:
        self.loads = asyncio.Event()
        self.loaded = False

    async def start(self) -> None:
        """Load."""
        await self.loads.wait()
        self.loaded = True

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        """Fail as a provider does that was not started."""
        if not self.loaded:
            raise ProviderError(self.name, "not started")
        return "A lamp."

    async def close(self) -> None:
        """Nothing to release."""


async def test_a_photo_is_taken_while_the_providers_load() -> None:
    vision = SlowVision()
    async with (
        serving(
            asr=WaveformASR({}),
            agent=ScriptedAgentBackend(),
            tts=ScriptedTTS(),
            vision=vision,
            loaded=False,
        ) as server,
        camera(server) as device,
    ):
        status, text = await post(device)
        assert status == 200
        assert "still starting" in text
        vision.loads.set()
        await until(lambda: vision.loaded, what="the vision provider", seconds=30)
        await server.app.loaded()
        assert await post(device) == (200, "A lamp.")
        assert (server.count("vision.loading"), server.count("vision.failed")) == (1, 0)
