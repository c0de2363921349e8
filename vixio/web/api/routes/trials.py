"""Profiles that are tried before they are saved: in writing, and by a connected device."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Path
from pydantic import BaseModel, Field

from vixio.core.cluster import ClusterUnavailable, LeaseLost
from vixio.core.commands import CommandResult, CommandStatus, Custom
from vixio.web.api.access import SCOPED, Principal, Service, Who
from vixio.web.api.drafts import (
    ASK,
    CLOSE,
    DEVICE_TRIAL,
    END,
    SHOW,
    START,
    TooManyTrials,
    trial_key,
)
from vixio.web.api.fields import Body, DevicePath
from vixio.web.api.problems import Problem, too_many, unavailable
from vixio.web.api.routes.profiles import check_content
from vixio.web.api.routes.voices import TAG, provider_problems
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.service import COMMAND_S, ApiService

ANSWER_S: Final = 120.0
"""For an answer with all its tools, and one before it that is still written."""

FULL_S: Final = 60.0
"""After which a refused trial can be opened again."""

TrialPath = Annotated[str, Path(description="A trial's id.", pattern="^[0-9a-f]{32}$")]


class TrialBody(Body):
    """What a profile would say."""

    content: dict[str, Any] = Field(examples=[{"language": "de", "wake_reply": "Ja?"}])
    language: Annotated[str, Field(max_length=64, pattern=TAG)] = Field(
        default="", description="Instead of that of the content."
    )


class DeviceTrialBody(Body):
    """What a profile would say."""

    content: dict[str, Any] = Field(examples=[{"language": "de", "wake_reply": "Ja?"}])


class TrialOpened(BaseModel):
    """A conversation in writing."""

    trial: str
    expires_at: int = Field(description="Without a question until then.")


class QuestionBody(Body):
    """What the user would say."""

    text: Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"\S")]


class TrialTool(BaseModel):
    """A tool call of an answer."""

    name: str
    source: str
    arguments: str
    output: str
    success: bool
    ms: int


class TrialModel(BaseModel):
    """An answer of a language model; numbers are tokens."""

    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    passed_over: list[str]


class TrialAnswer(BaseModel):
    """What the assistant would say."""

    text: str
    tools: list[TrialTool]
    models: list[TrialModel]
    stages: dict[str, int] = Field(description="Milliseconds since the question.")
    outcome: str = Field(description="As of a turn on record.")
    ended: bool = Field(description="Whether the assistant would end the conversation.")
    expires_at: int


class DeviceTrial(BaseModel):
    """What a device tries out."""

    device: str
    content: dict[str, Any] | None = Field(description="Null: it is served by its own profile.")


async def open_trial(service: Service, body: TrialBody) -> TrialOpened:
    """Open a conversation in writing with a profile that is not saved.

    Nothing of it is recorded or remembered. Tools are called as for a device, except those of a
    device itself and those that would keep something.
    """
    content = {**body.content, **({"language": body.language} if body.language else {})}
    await check_content(service, content)
    try:
        with provider_problems():
            trial, expires_at = await service.ports.drafts.open_trial(content)
    except TooManyTrials:
        raise too_many("there are too many trials: end one, or wait", FULL_S) from None
    except (ClusterUnavailable, LeaseLost):
        raise unavailable("the other processes cannot be reached, try again") from None
    return TrialOpened(trial=trial, expires_at=expires_at)


async def ask_trial(service: Service, trial: TrialPath, body: QuestionBody) -> TrialAnswer:
    """Ask something, and return the whole answer."""
    result = await _command(service, trial, Custom(ASK, {"text": body.text}), ANSWER_S)
    return TrialAnswer.model_validate(result.value)


async def close_trial(service: Service, trial: TrialPath) -> None:
    """End a trial."""
    await _command(service, trial, Custom(CLOSE), COMMAND_S)


async def try_on_device(
    service: Service, who: Who, device: DevicePath, body: DeviceTrialBody
) -> DeviceTrial:
    """Serve a connected device by a profile that is not saved, from its next turn on.

    Until it is ended or the device's connection closes. Needs the scope control too.
    """
    _may_control(who)
    await check_content(service, body.content)
    return await _on_device(service, device, START, content=body.content)


async def show_device_trial(service: Service, device: DevicePath) -> DeviceTrial:
    """Show what a connected device tries out."""
    return await _on_device(service, device, SHOW)


async def end_device_trial(service: Service, who: Who, device: DevicePath) -> None:
    """Serve a device by its own profile again. Needs the scope control too."""
    _may_control(who)
    await _on_device(service, device, END)


def _may_control(who: Principal) -> None:
    if not who.may(Scope.CONTROL):
        raise Problem(403, f"the token does not have the scope {Scope.CONTROL}")


async def _on_device(
    service: ApiService,
    device: str,
    action: str,
    **more: Any,  # noqa: ANN401 - JSON
) -> DeviceTrial:
    known = await service.device(device)
    content = await service.custom(known.id, DEVICE_TRIAL, COMMAND_S, action=action, **more)
    return DeviceTrial(device=known.id, content=content)


async def _command(
    service: ApiService, trial: str, command: Custom, timeout: float
) -> CommandResult:
    result = await service.ports.command(trial_key(trial), command, timeout=timeout)
    match result.status:
        case CommandStatus.DONE:
            return result
        case CommandStatus.NOT_CONNECTED:
            raise Problem(404, "there is no such trial: it has ended, open another one")
        case CommandStatus.TIMED_OUT:
            raise Problem(504, "the assistant did not answer in time, try again")
    raise Problem(409, f"the assistant could not answer: {result.message or 'no reason given'}")


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("trials")
    scope, one, device = SCOPED[Scope.PROFILES], "/trials/{trial}", "/devices/{device}/trial"
    errors = (404, 409, 504)
    routes.add("POST", "/trials", open_trial, scope, status=201, errors=(409, 504))
    routes.add("POST", one, ask_trial, scope, errors=errors)
    routes.add("DELETE", one, close_trial, scope, status=204, errors=errors)
    routes.add("POST", device, try_on_device, scope, errors=errors)
    routes.add("GET", device, show_device_trial, scope, errors=errors)
    routes.add("DELETE", device, end_device_trial, scope, status=204, errors=errors)
    return routes
