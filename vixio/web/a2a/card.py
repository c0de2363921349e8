"""The agent cards: who the agent is, where it is reached, what it can do."""

from __future__ import annotations

from typing import Any

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

from vixio import __version__
from vixio.settings.a2a import A2ASection
from vixio.web.a2a.devices import DeviceAgent
from vixio.web.a2a.incoming import EXTENSION

REST: str = "/rest"
"""Below an agent's URL: HTTP+JSON. The URL itself is JSON-RPC, of both versions."""

_TOOLS = "Takes tools along with messages, and calls them: data parts with tool-definitions."


def assistant_card(settings: A2ASection, url: str) -> dict[str, Any]:
    """Return the card of the assistant, whose URL is ``url``, as JSON for both versions."""
    return agent_card_to_dict(card_of_assistant(settings, url))


def card_of_assistant(settings: A2ASection, url: str) -> AgentCard:
    """Return the card of the assistant, whose URL is ``url``."""
    skill = AgentSkill(
        id="talk",
        name="Talk",
        description=settings.description,
        tags=["conversation", "tools"],
        input_modes=["text/plain", "application/json"],
        output_modes=["text/plain", "application/json"],
    )
    return _card(settings.name, settings.description, url, [skill], settings.client_tools)


def device_card(settings: A2ASection, agent: DeviceAgent, url: str) -> dict[str, Any]:
    """Return the card of a device, as :func:`assistant_card` does."""
    skills = [
        AgentSkill(id=skill, name=skill, description=words, tags=["device"])
        for skill, words in agent.skills.items()
    ]
    description = f"A voice device of {settings.name}."
    return agent_card_to_dict(_card(agent.name, description, url, skills, client_tools=False))


def _card(
    name: str, description: str, url: str, skills: list[AgentSkill], client_tools: bool
) -> AgentCard:
    extension = AgentExtension(uri=EXTENSION, description=_TOOLS, required=False)
    return AgentCard(
        name=name,
        description=description,
        version=__version__,
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url=url + REST, protocol_binding="HTTP+JSON", protocol_version="1.0"),
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="0.3"),
        ],
        capabilities=AgentCapabilities(
            streaming=True, push_notifications=False, extensions=[extension] if client_tools else []
        ),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain", "application/json"],
        skills=skills,
        security_schemes={
            "bearer": SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer")
            )
        },
        security_requirements=[SecurityRequirement(schemes={"bearer": StringList()})],
    )
