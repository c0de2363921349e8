"""Makes tools of an agent's skills: filtered, bounded, with options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vixio.core.tools.names import safe_tool_name
from vixio.core.tools.policy import chosen
from vixio.core.tools.source import Fault
from vixio.core.tools.types import USERS_WORDS, ToolCaller, ToolDefinition, ToolOptions
from vixio.tools.a2a.card import AgentCard, Skill
from vixio.tools.a2a.config import A2aConfig
from vixio.tools.bounds import MAX_DESCRIPTION_CHARS, bounded_description

MAX_TOOLS = 64
MAX_MESSAGE_CHARS = 20_000

PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_MESSAGE_CHARS,
            "description": USERS_WORDS,
        }
    },
    "required": ["message"],
    "additionalProperties": False,
}

_HOW: Final = (
    "If it answers with a question, ask the user, and call this tool again with their answer."
)


def to_definitions(
    card: AgentCard, config: A2aConfig, caller: ToolCaller
) -> tuple[dict[str, tuple[ToolDefinition, str]], list[Fault]]:
    """Return the tools by name, each with the id of its skill, and what was left out.

    An agent without skills is one tool, named as the source.
    """
    found: dict[str, tuple[ToolDefinition, str]] = {}
    faults: list[Fault] = []
    if not card.skills:
        whole = Skill("", card.name or config.name, card.description)
        tool = _definition(safe_tool_name(config.name), whole, card, config, caller)
        return {tool.name: (tool, "")}, faults
    for skill in card.skills:
        if not chosen(skill.id, config.allow, config.deny):
            continue
        name = safe_tool_name(skill.id)
        place = f"{config.name}/{name}"
        if len(found) == MAX_TOOLS:
            faults.append(Fault(place, f"the agent has more than {MAX_TOOLS} skills"))
            break
        if name in found:
            faults.append(Fault(place, "two skills have this id"))
        else:
            found[name] = _definition(name, skill, card, config, caller), skill.id
    return found, faults


def _definition(
    name: str, skill: Skill, card: AgentCard, config: A2aConfig, caller: ToolCaller
) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description=_description(skill, card, config),
        parameters=PARAMETERS,
        source=config.name,
        options=ToolOptions(timeout=config.timeout, confirm=config.confirm),
        caller=caller,
    )


def _description(skill: Skill, card: AgentCard, config: A2aConfig) -> str:
    agent = f"Asks the agent {card.name or config.name}. {_HOW}"
    words = f"{skill.name}: {skill.description}" if skill.description else skill.name
    if skill.examples:
        words = f"{words} Examples: {'; '.join(skill.examples)}."
    return f"{bounded_description(words, MAX_DESCRIPTION_CHARS - len(agent) - 1)} {agent}"
