"""What a connected device does: speak, answer, show, call its tools."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any, Final, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from vixio.core.commands import Ask, Close, Interrupt, Say
from vixio.core.session.speech import Priority
from vixio.core.strict_json import depth_of
from vixio.web.api import device_commands
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import Body, DevicePath, Words
from vixio.web.api.pictures import MAX_BYTES, MAX_PIXELS, PNG
from vixio.web.api.problems import Problem
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.screen_upload import JPEG
from vixio.web.api.service import COMMAND_S, SPEECH_S, TOOL_S, ApiService
from vixio.web.http.images import png_size

Emotion = Literal[
    "neutral", "happy", "laughing", "funny", "sad", "angry", "crying", "loving", "embarrassed",
    "surprised", "shocked", "thinking", "winking", "cool", "relaxed", "delicious", "kissy",
    "confident", "sleepy", "silly", "confused",
]  # fmt: skip
"""A face that the firmware knows: the names of :data:`~vixio.core.emotions.EMOTIONS`."""

ToolPath = Annotated[
    str, Path(description="A tool's name.", min_length=1, max_length=128, pattern=r"^[!-.0-~]+$")
]

ARRIVAL_S: Final = 5.0
"""After the device's answer: its picture may have come to another process."""

MAX_CUSTOM_CHARS: Final = 16 * 1024
"""Of a custom message, as JSON: the firmware holds it in memory whole, twice."""

MAX_CUSTOM_LEVELS: Final = 40
"""cJSON of the firmware parses recursively, on a small stack."""


class SayBody(Body):
    """What to speak, and when."""

    text: Words
    priority: Literal["low", "normal", "high"] = Field(
        default="normal",
        description="low: in a pause; normal: behind the running reply; high: at once.",
    )
    interruptible: bool = Field(default=True, description="Whether the user's voice may cut it.")
    wait: bool = Field(
        default=False, description="Answer when it was played, with what was heard, or at once."
    )


class AskBody(SayBody):
    """What to answer, as if the user had said it."""

    wait: bool = Field(default=True, description="Return the answer, or return at once.")


class Speech(BaseModel):
    """What became of a speech."""

    status: str = Field(
        description="accepted; if it was waited for played, interrupted, failed, dropped, or "
        "shown: the device is idle and cannot be made to speak, so it is on its screen. quiet, at "
        "once: the device is idle in its quiet hours, nothing was said."
    )
    heard: str = Field(default="", description="What was played of it.")
    until: str = Field(default="", description="When its quiet hours end, such as 07:00.")


class AlertBody(Body):
    """A notice on the screen; the device plays its sound with it."""

    title: Annotated[str, Field(min_length=1, max_length=100)]
    text: Annotated[str, Field(min_length=1, max_length=1_000)]
    emotion: Emotion = "neutral"


class FaceBody(Body):
    """A face."""

    emotion: Emotion


class CustomBody(Body):
    """What to send; the firmware shows it as a text."""

    payload: dict[str, Any]


class Tool(BaseModel):
    """A tool of a device. ``parameters``: a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolList(BaseModel):
    """Tools of a device."""

    tools: list[Tool]


class CallBody(Body):
    """The arguments of a call."""

    arguments: dict[str, Any] = Field(default_factory=dict)


class CallResult(BaseModel):
    """What a tool answered."""

    success: bool
    text: str


class Upgrade(BaseModel):
    """An upgrade that was begun."""

    version: str
    from_version: str = Field(description="What the device runs until it restarts.")


class AssetsBody(Body):
    """Where the device's package of assets is: wake word, fonts, emoji, theme."""

    url: Annotated[
        str, Field(max_length=1_000, pattern=r"^https?://[A-Za-z0-9.:\[\]-]+(/[!-~]*)?$")
    ]


async def say(service: Service, device: DevicePath, body: SayBody) -> Speech:
    """Speak a text on a connected device."""
    return await _speak(service, device, Say, body)


async def ask(service: Service, device: DevicePath, body: AskBody) -> Speech:
    """Have the assistant of a connected device answer, aloud; return the answer.

    It never counts as the user's yes to a tool.
    """
    return await _speak(service, device, Ask, body)


async def interrupt(service: Service, device: DevicePath) -> None:
    """Cut the reply under way."""
    await service.command(device, Interrupt("interrupted over the API"))


async def disconnect(service: Service, device: DevicePath) -> None:
    """Close the device's connection; it connects again when somebody speaks to it."""
    await service.command(device, Close("closed over the API"))


async def reboot(service: Service, who: Who, device: DevicePath) -> CallResult:
    """Start the device again. It stands in the audit trail."""
    found = await service.custom(device, device_commands.REBOOT, TOOL_S)
    await service.with_repository(lambda repository: repository.note(device, who.actor, "rebooted"))
    return CallResult(**found)


async def upgrade(service: Service, who: Who, device: DevicePath) -> Upgrade:
    """Have the device install the release that it would be offered at its next start.

    It restarts then; `/firmware/attempts` tells what became of it. It stands in the audit trail.
    """
    board = (await service.device(device)).board
    found = await service.custom(device, device_commands.UPGRADE, TOOL_S, board=board)
    if found is None:
        raise Problem(404, "the device's firmware has no tool by which it can be upgraded")
    await service.with_repository(
        lambda repository: repository.note(device, who.actor, "upgraded", **found)
    )
    return Upgrade(**found)


async def set_assets(service: Service, who: Who, device: DevicePath, body: AssetsBody) -> None:
    """Have the device fetch its assets from a URL at its next start, once.

    It says whether it kept the URL, not whether it can be reached. It stands in the audit trail.
    """
    kept = await _call(service, device, device_commands.SET_ASSETS, body.model_dump(), user=True)
    if not kept.success:
        raise Problem(409, f"the device did not keep the address: {kept.text}")
    await service.with_repository(
        lambda repository: repository.note(
            device, who.actor, "assets set", host=body.url.split("/")[2]
        )
    )


async def custom(service: Service, device: DevicePath, body: CustomBody) -> None:
    """Send a JSON object to firmware built for such (CONFIG_RECEIVE_CUSTOM_MESSAGE).

    The device does not answer. Other firmware ignores it.
    """
    if depth_of(body.payload) > MAX_CUSTOM_LEVELS:
        raise Problem(422, f"the payload has more than {MAX_CUSTOM_LEVELS} levels")
    try:
        size = len(json.dumps(body.payload, ensure_ascii=False, allow_nan=False))
    except ValueError:
        raise Problem(422, "the payload has a number that JSON has not") from None
    if size > MAX_CUSTOM_CHARS:
        raise Problem(422, f"the payload has more than {MAX_CUSTOM_CHARS} characters as JSON")
    await service.custom(device, device_commands.CUSTOM, COMMAND_S, payload=body.payload)


async def alert(service: Service, device: DevicePath, body: AlertBody) -> None:
    """Show a notice."""
    await service.custom(device, device_commands.ALERT, COMMAND_S, **body.model_dump())


async def face(service: Service, device: DevicePath, body: FaceBody) -> None:
    """Change the face, until the next reply does."""
    await service.custom(device, device_commands.FACE, COMMAND_S, **body.model_dump())


async def screen(
    service: Service, device: DevicePath, quality: Annotated[int, Query(ge=1, le=100)] = 80
) -> Response:
    """Return what the device's screen shows, as a JPEG image."""
    with service.ports.screens.expected() as picture:
        answer = await service.custom(
            device,
            device_commands.FETCH,
            TOOL_S,
            tool=device_commands.SNAPSHOT,
            path=picture.path,
            arguments={"quality": quality},
        )
        if answer is None:
            raise Problem(404, "the device has no screen of which it can send a picture")
        if not answer["success"]:
            raise Problem(409, f"the device could not send its screen: {answer['text']}")
        try:
            async with asyncio.timeout(ARRIVAL_S):
                image = await picture.image()
        except TimeoutError:
            raise Problem(504, "the device's screen did not arrive, try again") from None
    return Response(image, media_type=JPEG)


async def show_picture(service: Service, device: DevicePath, request: Request) -> None:
    """Show a PNG image on the device's screen, which fetches it from this server.

    It has at most 512 KB and 384,000 pixels. The screen shows it among its messages.
    """
    image = b""
    async for piece in request.stream():
        image += piece
        if len(image) > MAX_BYTES:
            raise Problem(
                413, f"a picture has at most {MAX_BYTES} bytes", headers={"Connection": "close"}
            )
    width, height = png_size(image)
    if not width * height:
        raise Problem(415, "send a whole PNG image: devices read no other format")
    if width * height > MAX_PIXELS:
        raise Problem(422, f"the picture has {width} x {height} pixels, {MAX_PIXELS} at most")
    answer = await service.custom(
        device,
        device_commands.FETCH,
        TOOL_S,
        tool=device_commands.PREVIEW,
        path=service.ports.pictures.offer(image),
        arguments={},
    )
    if answer is None:
        raise Problem(404, "the device has no screen that shows pictures")
    if not answer["success"]:
        raise Problem(409, f"the device could not show the picture: {answer['text']}")


async def list_tools(service: Service, device: DevicePath) -> ToolList:
    """List the tools that the assistant may use."""
    return await _list(service, device, user=False)


async def call_tool(
    service: Service, device: DevicePath, tool: ToolPath, body: CallBody
) -> CallResult:
    """Call a tool that the assistant may use."""
    return await _call(service, device, tool, body.arguments, user=False)


async def list_user_tools(service: Service, device: DevicePath) -> ToolList:
    """List the tools that the assistant does not see."""
    return await _list(service, device, user=True)


async def call_user_tool(
    service: Service, device: DevicePath, tool: ToolPath, body: CallBody
) -> CallResult:
    """Call a tool that the assistant does not see."""
    return await _call(service, device, tool, body.arguments, user=True)


async def _list(service: ApiService, device: str, *, user: bool) -> ToolList:
    found = await service.custom(device, device_commands.TOOLS, TOOL_S, user=user)
    return ToolList(tools=[Tool(**tool) for tool in found])


async def _call(
    service: ApiService, device: str, tool: str, arguments: dict[str, Any], *, user: bool
) -> CallResult:
    found = await service.custom(
        device, device_commands.CALL, TOOL_S, tool=tool, arguments=arguments, user=user
    )
    if found is None:
        raise Problem(404, f"the device has no such tool: {tool}")
    return CallResult(**found)


async def _speak(
    service: ApiService, device: str, kind: type[Say] | type[Ask], body: SayBody
) -> Speech:
    try:
        command = kind(body.text, Priority[body.priority.upper()], body.interruptible, body.wait)
    except ValueError as error:  # nothing but separators, which only Python counts as spaces
        raise Problem(422, str(error)) from None
    return _speech(await service.command(device, command, SPEECH_S if body.wait else COMMAND_S))


def _speech(value: Any) -> Speech:  # noqa: ANN401 - JSON
    return Speech(**value) if isinstance(value, dict) else Speech(status="accepted")


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("control")
    control, user = SCOPED[Scope.CONTROL], SCOPED[Scope.USER_TOOLS]
    one, errors = "/devices/{device}", (404, 409, 504)
    routes.add("POST", f"{one}/say", say, control, errors=errors)
    routes.add("POST", f"{one}/ask", ask, control, errors=errors)
    routes.add("POST", f"{one}/interrupt", interrupt, control, status=204, errors=errors)
    routes.add("POST", f"{one}/disconnect", disconnect, control, status=204, errors=errors)
    routes.add("POST", f"{one}/reboot", reboot, user, errors=errors)
    routes.add("POST", f"{one}/assets", set_assets, user, status=204, errors=errors)
    routes.add("POST", f"{one}/upgrade", upgrade, user, errors=errors)
    routes.add(
        "GET",
        f"{one}/screen",
        screen,
        user,
        errors=errors,
        response_class=Response,
        documented={200: {"description": "The screen", "content": {JPEG: {}}}},
    )
    routes.add(
        "POST",
        f"{one}/picture",
        show_picture,
        control,
        status=204,
        errors=errors,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {PNG: {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    routes.add("POST", f"{one}/alert", alert, control, status=204, errors=errors)
    routes.add("POST", f"{one}/face", face, control, status=204, errors=errors)
    routes.add("POST", f"{one}/custom", custom, control, status=204, errors=errors)
    routes.add("GET", f"{one}/tools", list_tools, control, errors=errors)
    routes.add("POST", f"{one}/tools/{{tool}}", call_tool, control, errors=errors)
    routes.add("GET", f"{one}/user-tools", list_user_tools, user, errors=errors)
    routes.add("POST", f"{one}/user-tools/{{tool}}", call_user_tool, user, errors=errors)
    return routes
