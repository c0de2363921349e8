"""Models that are whole agents at a service, which has their prompt, their memory and their tools.

They get the user's words alone. What the service remembers is a conversation there: a device goes
on with it, and a conversation that begins here begins another one there.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field, SecretStr

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.metrics import ModelUse
from vixio.providers.openai_agent.backend import SharedModelBackend
from vixio.providers.openai_agent.conversations import Conversations
from vixio.providers.openai_agent.model import ModelCall, ModelStream, text_of
from vixio.providers.openai_agent.settings import Seconds, TurnSettings
from vixio.providers.service_client import Server, ServiceClient, checked_key

if TYPE_CHECKING:
    from vixio.providers.openai_agent.models import SharedModel

STOP_S: Final = 2.0
"""For the service to stop an answer that nobody hears; it goes on without us."""

_VARIABLE: Final = re.compile(r"\{(instructions|language|device)\}")

Variables = Annotated[
    dict[str, str],
    Field(
        default_factory=dict,
        description="For the agent's prompt; {instructions}, {language} and {device} are replaced",
    ),
]

NOBODY: Final = "vixio"
"""The user where no device asks."""


class HostedSettings(TurnSettings):
    """Options of every agent at a service."""

    api_key: SecretStr | None = None
    connect_timeout: Seconds = 5.0


class HostedModel(ABC):
    """The agent at a service. ``client``: asks it."""

    def __init__(self, name: str, client: ServiceClient) -> None:
        self.name = name
        self.client = client
        self.conversations = Conversations()
        self._stopping: dict[str, asyncio.Task[None]] = {}

    @abstractmethod
    def stream(self, call: ModelCall) -> ModelStream:
        """Stream the answer; see :class:`~vixio.providers.openai_agent.model.Model`."""

    @abstractmethod
    async def verify(self) -> bool:
        """Ask the service whether it serves us. Raises ProviderError if it does not."""

    async def close(self) -> None:
        """Close the connections."""
        if self._stopping:
            await asyncio.wait(self._stopping.values())
        await self.client.close()

    def stop(self, conversation: str, asked: Coroutine[Any, Any, None]) -> None:
        """Ask the service to stop an answer, beside all else; the conversation waits for it."""

        async def stopped() -> None:
            try:
                async with asyncio.timeout(STOP_S):
                    await asked
            except (TimeoutError, ProviderError):
                pass  # it goes on there, and is heard by nobody

        task = asyncio.create_task(stopped(), name=f"{self.name} stop")
        self._stopping[conversation] = task
        task.add_done_callback(lambda _: self._stopping.pop(conversation, None))

    async def settled(self, conversation: str) -> None:
        """Wait until nothing of a conversation is being stopped: one answer at a time."""
        if (task := self._stopping.get(conversation)) is not None:
            await asyncio.wait([task])


def said(call: ModelCall) -> str:
    """Return what the user has said since the last answer."""
    texts: list[str] = []
    for item in reversed(call.items):
        if item.get("role") != "user":
            break
        texts.append(text_of(item["content"]))
    return "\n".join(reversed(texts))


def counted(usage: object, given: str, made: str) -> ModelUse:
    """Return the tokens that a service counts under two names; 0 where it does not say."""
    counts = usage if isinstance(usage, dict) else {}
    asked, answered = (
        each if isinstance(each := counts.get(name), int) else 0 for name in (given, made)
    )
    return ModelUse("", asked, answered)


def filled(template: Mapping[str, str], call: ModelCall) -> dict[str, str]:
    """Return variables for the agent, with what of this turn they name."""
    values = {
        "instructions": call.instructions,
        "language": call.language,
        "device": call.user,
    }
    return {
        name: _VARIABLE.sub(lambda found: values[found[1]], text) for name, text in template.items()
    }


def server(name: str, base_url: str, key: str, option: str, missing: str) -> Server:
    """Return the server with the header that shows the key. Raises ProviderUnavailable."""
    if not key:
        raise ProviderUnavailable(name, f"no key: {missing}", reason="no_key")
    checked = checked_key(name, "agent", option, key)
    return Server(base_url, {"Authorization": f"Bearer {checked}"})


class HostedBackend(SharedModelBackend):
    """Makes the model of an agent at a service."""

    def __init__(
        self, name: str, settings: HostedSettings, make: Callable[[], HostedModel]
    ) -> None:
        super().__init__(name, settings)
        self._make = make

    def make_model(self) -> SharedModel:
        from vixio.providers.openai_agent.guarded_model import GuardedModel
        from vixio.providers.openai_agent.models import SharedModel

        model = self._make()
        model.client.open()
        guarded = GuardedModel(model, self.name, self.settings)
        return SharedModel(guarded, model.close, verify=model.verify)
