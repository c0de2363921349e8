"""Devices as agents: which there are, what they can do, and the tasks that they carry out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Protocol

from vixio.core.commands import Ask, Command, CommandResult, CommandStatus, Custom, Interrupt, Say
from vixio.core.metrics import Counters
from vixio.core.session.speech import SpeechStatus
from vixio.settings.a2a import A2ADevicesSection
from vixio.web.a2a.call_context import Admitted
from vixio.web.a2a.device_commands import CALL, LIST
from vixio.web.a2a.output import Output
from vixio.web.a2a.run import Run, TaskFailed

TALK: Final = "talk"
SPEAK: Final = "speak"

LIST_S: Final = 5.0
SPEECH_S: Final = 300.0
"""For an answer or a speech to be played to its end; the user may be speaking before."""
TOOL_S: Final = 60.0

ABSENT: Final = "The device is not connected."

Skills = dict[str, str]
"""Descriptions by the id of a skill."""


class SendCommand(Protocol):
    """Has a command carried out by the session of a device, in whichever process."""

    def __call__(
        self, device_id: str, command: Command, *, timeout: float
    ) -> Awaitable[CommandResult]: ...


@dataclass(frozen=True, slots=True)
class DeviceAgent:
    """A connected device: its id, its name, and the skills that are offered."""

    id: str
    name: str
    skills: Skills


class Devices:
    """The devices that are agents."""

    def __init__(
        self, settings: A2ADevicesSection | None, command: SendCommand, counters: Counters
    ) -> None:
        self._settings = settings
        self._command = command
        self._counters = counters

    def permits(self, device_id: str) -> bool:
        """Whether a device may be an agent."""
        settings = self._settings
        return settings is not None and _matches(device_id, settings.allow, settings.deny)

    def offers(self, skill: str) -> bool:
        """Whether devices offer a skill."""
        settings = self._settings
        return settings is not None and _matches(skill, settings.skills, settings.deny_skills)

    async def describe(self, device_id: str) -> DeviceAgent | None:
        """Return a device as an agent; None: it is not connected."""
        result = await self._command(device_id, Custom(LIST), timeout=LIST_S)
        if not result.ok or not isinstance(result.value, dict):
            return None
        skills = {
            TALK: "Answers words as if they had been said to the device, and speaks the answer.",
            SPEAK: "Speaks a text on the device as it is: send {skill: speak, text: …} as data.",
        }
        for tool in result.value["tools"]:
            skills[tool["name"]] = (
                f"{tool['description']} Send {{skill: {tool['name']}, arguments: {{…}}}} as data. "
                f"JSON Schema of the arguments: {tool['schema']}"
            )
        offered = {skill: words for skill, words in skills.items() if self.offers(skill)}
        return DeviceAgent(device_id, result.value["name"] or device_id, offered)

    def run(
        self, task_id: str, output: Output, over: Callable[[Run], None], admitted: Admitted
    ) -> DeviceRun:
        """Return the work on a task of a device."""
        return DeviceRun(task_id, output, self._counters, over, admitted, self, self._command)


class DeviceRun(Run):
    """Has one skill of a device carried out."""

    def __init__(
        self,
        task_id: str,
        output: Output,
        counters: Counters,
        over: Callable[[Run], None],
        admitted: Admitted,
        devices: Devices,
        command: SendCommand,
    ) -> None:
        super().__init__(task_id, output, counters, over)
        self._device_id = admitted.scope.device
        self._incoming = admitted.incoming
        self._devices = devices
        self._send = command
        self._speaking = False

    async def work(self) -> None:
        """Carry it out. Raises TaskFailed."""
        skill, text, arguments = self._asked()
        if not self._devices.offers(skill):
            raise TaskFailed("This device does not offer that skill.")
        try:
            answer = await self._carry_out(skill, text, arguments)
        except ValueError as error:
            raise TaskFailed(f"The device cannot do that: {error}.") from None
        if answer:
            self.output.text(answer)
        self._counters.add("a2a.tasks.answered")
        await self.output.complete()

    async def cancel(self, tell: Callable[[], Awaitable[None]]) -> None:
        """Stop, also what is being spoken."""
        speaking = self._speaking
        await super().cancel(tell)
        if speaking:
            await self._send(self._device_id, Interrupt("cancelled over A2A"), timeout=LIST_S)

    def _asked(self) -> tuple[str, str, Any]:
        """Return the skill that is asked for, and what is given with it."""
        for data in self._incoming.data:
            if isinstance(data, dict) and isinstance(skill := data.get("skill"), str):
                text = data.get("text")
                words = text if isinstance(text, str) else self._incoming.text
                return skill, words, data.get("arguments", {})
        return TALK, self._incoming.text, {}

    async def _carry_out(self, skill: str, text: str, arguments: Any) -> str:  # noqa: ANN401 - JSON
        if skill in (TALK, SPEAK):
            speech: Command = Ask(text, wait=True) if skill == TALK else Say(text, wait=True)
            self._speaking = True
            try:
                value = await self._result(speech, SPEECH_S)
            finally:
                self._speaking = False
            heard = str(value.get("heard", ""))
            if value.get("status") in (SpeechStatus.FAILED, SpeechStatus.DROPPED):
                raise TaskFailed(
                    "The device could not speak it." + (f" Heard: {heard}" * bool(heard))
                )
            if value.get("status") == SpeechStatus.QUIET:
                raise TaskFailed(f"Quiet hours until {value['until']}; nothing was said.")
            if value.get("status") == SpeechStatus.SHOWN:
                return "Shown on its screen: it cannot be made to speak while it is idle."
            return heard
        if not isinstance(arguments, dict):
            raise TaskFailed("The arguments must be an object.")
        value = await self._result(Custom(CALL, {"tool": skill, "arguments": arguments}), TOOL_S)
        if not value["success"]:
            raise TaskFailed(_tool_error(value["text"]))
        return str(value["text"])

    async def _result(self, command: Command, seconds: float) -> dict[str, Any]:
        result = await self._send(self._device_id, command, timeout=seconds)
        match result.status:
            case CommandStatus.DONE if isinstance(result.value, dict):
                return result.value
            case CommandStatus.NOT_CONNECTED:
                self._counters.add("a2a.devices.absent")
                raise TaskFailed(ABSENT)
            case CommandStatus.TIMED_OUT:
                raise TaskFailed("The device did not answer in time; it may have done it.")
        raise TaskFailed(f"The device could not do it: {result.message or 'no reason given'}.")


def _matches(name: str, allow: tuple[str, ...], deny: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, each) for each in allow) and not any(
        fnmatchcase(name, each) for each in deny
    )


def _tool_error(text: str) -> str:
    try:
        return f"The tool failed: {json.loads(text)['error']['message']}"
    except (ValueError, KeyError, TypeError):
        return "The tool failed."
