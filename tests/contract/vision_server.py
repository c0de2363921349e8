"""A model that sees, stood in for: it answers every question about a picture, and at once."""

from __future__ import annotations

from tests.support.llm_server import Answer, JsonObject, LLMServer, whole


class VisionServer(LLMServer):
    """Says what it was asked and how large the picture was, so that answers can be told apart."""

    def _next(self, request: JsonObject) -> Answer:
        question, image = request["messages"][-1]["content"]
        return whole(f"{question['text'][:80]} {len(image['image_url']['url'])}")
