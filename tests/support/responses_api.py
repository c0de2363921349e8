"""Answers for the stand-in server in the Responses API's streaming protocol.

The same functions as in ``llm_server`` (``text``, ``calls``, ``refusal``), and the parts that only
this API has: reasoning items, failures within a stream, incomplete answers.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.llm_server import Answer, Call, Cut, JsonObject, Stall, Step

USAGE = {
    "input_tokens": 13,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 20,
}


class Stream:
    """Collects the numbered events of one response, and its output."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._number = 0
        self._output: list[JsonObject] = []
        for kind in ("created", "in_progress"):
            self.event(f"response.{kind}", response=self.response("in_progress"))

    def response(self, status: str, **fields: Any) -> JsonObject:  # noqa: ANN401 - JSON
        """Return the current response object."""
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": "stand-in-2026",
            "output": list(self._output),
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": USAGE if status == "completed" else None,
            **fields,
        }

    def event(self, kind: str, **fields: Any) -> None:  # noqa: ANN401 - JSON
        """Add one server-sent event."""
        body = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        data = json.dumps(body, ensure_ascii=False)
        self.steps.append(f"event: {kind}\ndata: {data}\n\n")

    def message(self, *pieces: str | Stall | Cut, refused: bool = False, end: bool = True) -> None:
        """Add a message of ``pieces``, one delta each; stalls and cuts between them."""
        name = "refusal" if refused else "output_text"
        place = {"item_id": f"msg_{len(self._output)}", "output_index": len(self._output)}
        item = {"id": place["item_id"], "type": "message", "role": "assistant"}
        part: JsonObject = {"type": name, "refusal" if refused else "text": ""}
        if not refused:
            part["annotations"] = []
        self._added({**item, "status": "in_progress", "content": []})
        place["content_index"] = 0
        self.event("response.content_part.added", **place, part=part)
        kind = "refusal" if refused else "output_text"
        for piece in pieces:
            if isinstance(piece, str):
                more: JsonObject = {} if refused else {"logprobs": []}
                self.event(f"response.{kind}.delta", **place, delta=piece, **more)
            else:
                self.steps.append(piece)
        if not end:
            return
        whole = "".join(piece for piece in pieces if isinstance(piece, str))
        part = {**part, "refusal" if refused else "text": whole}
        self.event(
            f"response.{kind}.done",
            **place,
            **({"refusal": whole} if refused else {"text": whole, "logprobs": []}),
        )
        self.event("response.content_part.done", **place, part=part)
        self._done({**item, "status": "completed", "content": [part]})

    def reasoning(self, *pieces: str, sealed: str | None = None) -> None:
        """Add a reasoning item with a summary; ``sealed``: its encrypted content."""
        index = len(self._output)
        item = {"id": f"rs_{index}", "type": "reasoning"}
        place = {"item_id": item["id"], "output_index": index, "summary_index": 0}
        self._added({**item, "summary": []})
        empty = {"type": "summary_text", "text": ""}
        self.event("response.reasoning_summary_part.added", **place, part=empty)
        for piece in pieces:
            self.event("response.reasoning_summary_text.delta", **place, delta=piece)
        part = {"type": "summary_text", "text": "".join(pieces)}
        self.event("response.reasoning_summary_text.done", **place, text=part["text"])
        self.event("response.reasoning_summary_part.done", **place, part=part)
        more: JsonObject = {} if sealed is None else {"encrypted_content": sealed}
        self._done({**item, "summary": [part], **more})

    def calls(self, *made: Call, piece: int = 5) -> None:
        """Add tool calls, all at once: their arguments come in pieces and interleaved."""
        first = len(self._output)
        items: list[JsonObject] = []
        for number, call in enumerate(made):
            items.append(
                {
                    "id": f"fc_{first + number}",
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": "",
                    "status": "in_progress",
                }
            )
            self._added(items[-1], first + number)
        longest = max((len(call.arguments) for call in made), default=0)
        for start in range(0, longest, piece):
            for number, call in enumerate(made):
                if part := call.arguments[start : start + piece]:
                    self._of_call("delta", items[number], first + number, delta=part)
        for number, call in enumerate(made):
            done = {"arguments": call.arguments, "name": call.name}
            self._of_call("done", items[number], first + number, **done)
            item = {**items[number], "arguments": call.arguments, "status": "completed"}
            self._done(item, first + number)

    def complete(self) -> Answer:
        """Complete the response."""
        self.event("response.completed", response=self.response("completed"))
        return Answer(self.steps)

    def fail(self, code: str, message: str) -> Answer:
        """End it with a failure that the server reports in the response object."""
        error = {"code": code, "message": message}
        self.event("response.failed", response=self.response("failed", error=error))
        return Answer(self.steps)

    def incomplete(self, reason: str) -> Answer:
        """End it incomplete."""
        response = self.response("incomplete", incomplete_details={"reason": reason}, usage=USAGE)
        self.event("response.incomplete", response=response)
        return Answer(self.steps)

    def error(self, code: str, message: str) -> Answer:
        """End it with an ``error`` event."""
        self.event("error", code=code, message=message, param=None)
        return Answer(self.steps)

    def _added(self, item: JsonObject, index: int | None = None) -> None:
        at = len(self._output) if index is None else index
        self.event("response.output_item.added", output_index=at, item=item)

    def _done(self, item: JsonObject, index: int | None = None) -> None:
        at = len(self._output) if index is None else index
        self.event("response.output_item.done", output_index=at, item=item)
        self._output.append(item)

    def _of_call(self, what: str, item: JsonObject, index: int, **fields: Any) -> None:  # noqa: ANN401 - JSON
        place = {"item_id": item["id"], "output_index": index}
        self.event(f"response.function_call_arguments.{what}", **place, **fields)


def text(*pieces: str | Stall | Cut, end: bool = True) -> Answer:
    """Return an answer that says ``pieces``, one delta each."""
    stream = Stream()
    stream.message(*pieces, end=end)
    return stream.complete() if end else Answer(stream.steps)


def calls(*made: Call, saying: str = "", piece: int = 5) -> Answer:
    """Return an answer that calls tools, all at once."""
    stream = Stream()
    if saying:
        stream.message(saying)
    stream.calls(*made, piece=piece)
    return stream.complete()


def refusal(*pieces: str) -> Answer:
    """Return an answer that declines."""
    stream = Stream()
    stream.message(*pieces, refused=True)
    return stream.complete()
