"""The joke service of the tool-service description.

vixio tool-service joke:JokeService --url nats://127.0.0.1:4222
"""

from __future__ import annotations

import random
from typing import Any

from vixio.bus import DynamicToolService

JOKES = {
    "pun": "I would tell you a joke about {topic}, but it needs no {topic} to be bad.",
    "question": "Why did the {topic} cross the road? It was the chicken's day off.",
}


class JokeService(DynamicToolService):
    """Tells a joke in the style that the tool configures."""

    id = "joke-service"
    request_queue = "non-persistent://tg/request/joke"
    response_queue = "non-persistent://tg/response/joke"
    config_params = ({"name": "style", "required": False},)
    tools = (
        {
            "name": "tell-joke",
            "description": "Tell a joke on a given topic.",
            "style": "pun",
            "arguments": [
                {"name": "topic", "type": "string", "description": "What it is about: one noun."}
            ],
        },
    )

    async def invoke(self, user: str, config: dict[str, Any], arguments: dict[str, Any]) -> str:
        """Return a joke."""
        style = config.get("style") or random.choice(sorted(JOKES))  # noqa: S311 - a joke
        joke = JOKES.get(style, JOKES["pun"]).format(topic=arguments.get("topic", "cats"))
        return f"Hey {user}! {joke}" if user else joke
