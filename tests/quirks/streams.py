"""How servers cut a call into the pieces of a Chat Completions stream."""

from __future__ import annotations

import json
from typing import Any

from tests.quirks.quirk import CHINESE, LAMP, SAID, Quirk, done, streamed, volume
from tests.support.llm_server import Answer, JsonObject, chunk

V = "self_audio_speaker_set_volume"
L = "self_lamp_turn_on"
FORTY = '{"volume":40}'


def piece(
    index: object = None, name: str | None = None, text: object = None, call_id: str | None = None
) -> JsonObject:
    """Return an entry of ``tool_calls``; what is None is left out."""
    function = {"name": name, "arguments": text}
    entry: JsonObject = {"index": index, "id": call_id}
    given = {key: value for key, value in entry.items() if value is not None}
    return {
        **given,
        "function": {key: value for key, value in function.items() if value is not None},
    }


def _legacy() -> Answer:
    deltas: list[JsonObject] = [
        {"function_call": {"name": V, "arguments": ""}},
        {"function_call": {"arguments": '{"volume":'}},
        {"function_call": {"arguments": "40}"}},
    ]
    steps = [chunk(delta) for delta in deltas]
    return Answer([*steps, chunk({}, "function_call"), "data: [DONE]\n\n"])


def _message() -> Answer:
    call = {"id": "a", "type": "function", "function": {"name": V, "arguments": FORTY}}
    choice = {"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}
    return Answer([f"data: {json.dumps({'choices': [choice]})}\n\n", "data: [DONE]\n\n"])


def _one(name: str, *pieces: Any, source: str = "") -> Quirk:  # noqa: ANN401 - JSON
    """One call of the volume."""
    return Quirk(name, source, pieces=pieces, made=volume(40))


QUIRKS = [
    _one(
        "as the API says", piece(0, V, "", "a"), piece(0, None, '{"volume"'), piece(0, None, ":40}")
    ),
    _one("whole", piece(0, V, FORTY, "a")),
    # No usable index.
    _one(
        "no index", piece(None, V, "", "a"), piece(None, None, FORTY), source="openai-python#2806"
    ),
    _one(
        "null index",
        {**piece(0, V, "", "a"), "index": None},
        {"index": None, **piece(None, None, FORTY)},
    ),
    _one("index is text", piece("0", V, "", "a"), piece("0", None, FORTY)),
    _one("index is a fraction", piece(0.0, V, "", "a"), piece(0.0, None, FORTY)),
    _one("index is true", piece(True, V, "", "a"), piece(True, None, FORTY)),
    _one("index in the first piece only", piece(0, V, "", "a"), piece(None, None, FORTY)),
    _one("index in the later pieces only", piece(None, V, "", "a"), piece(0, None, FORTY)),
    _one(
        "index of the list of tools first",
        piece(7, V, "", "a"),
        piece(0, None, FORTY),
        source="sglang#6310",
    ),
    _one(
        "an index for each piece",
        piece(0, V, "", "a"),
        piece(1, None, '{"volume"'),
        piece(2, None, ":40}"),
    ),
    _one(
        "no index, id in each piece",
        piece(None, V, '{"volume"', "a"),
        piece(None, None, ":40}", "a"),
    ),
    # Ids and names again.
    _one(
        "new id and name in each piece",
        piece(0, V, "", "a"),
        piece(0, V, '{"volume"', "b"),
        piece(0, V, ":40}", "c"),
        piece(0, V, "", "d"),
        source="vllm#44098",
    ),
    _one(
        "new id in each piece, no index",
        piece(None, V, '{"volume"', "a"),
        piece(None, V, ":40}", "b"),
    ),
    _one(
        "new id in each piece, no name", piece(0, V, '{"volume"', "a"), piece(0, None, ":40}", "b")
    ),
    _one(
        "id and name in each piece",
        piece(0, V, '{"volume"', "a"),
        piece(0, V, ":40}", "a"),
        source="litellm#20480",
    ),
    _one(
        "name in each piece, no id",
        piece(0, V, '{"volume"'),
        piece(0, V, ":40}"),
        source="agentscope-java#1216",
    ),
    _one("empty id and name later", piece(0, V, "", "a"), piece(0, "", FORTY, "")),
    _one("id behind the name", piece(0, V, ""), piece(0, None, FORTY, "a"), source="pipecat#4987"),
    _one("id is a number", {**piece(0, V, FORTY), "id": 7}),
    _one("no id at all", piece(0, V, FORTY), source="LM Studio #830"),
    # The name in pieces.
    _one(
        "name in two pieces",
        piece(0, "self_audio_", "", "a"),
        piece(0, "speaker_set_volume", FORTY),
        source="continue#5849",
    ),
    _one(
        "name in three pieces",
        *(piece(0, part, "") for part in ("self_audio", "_speaker", "_set_volume")),
        piece(0, None, FORTY),
    ),
    _one(
        "name and arguments in the same pieces",
        piece(0, "self_audio_", '{"vol', "a"),
        piece(0, "speaker_set_volume", 'ume":40}'),
        source="hydra#957",
    ),
    _one(
        "name in pieces without index",
        piece(None, "self_audio_", "", "a"),
        piece(None, "speaker_set_volume", FORTY),
    ),
    _one("name grows", piece(0, "self_audio", "", "a"), piece(0, V, FORTY)),
    _one(
        "name behind the arguments",
        piece(0, None, '{"volume"', "a"),
        piece(0, V, ":40}"),
        source="vercel/ai#14722",
    ),
    _one(
        "token behind the name, in a piece",
        piece(0, V, "", "a"),
        piece(0, "<|channel|>commentary", FORTY),
        source="vllm#32633",
    ),
    _one(
        "real name in pieces",
        piece(0, "self.audio_speaker", "", "a"),
        piece(0, ".set_volume", FORTY),
    ),
    # Arguments.
    _one("an object as arguments", piece(0, V, {"volume": 40}, "a"), source="Ollama's own API"),
    _one(
        "null as arguments first",
        {"index": 0, "id": "a", "function": {"name": V, "arguments": None}},
        piece(0, None, FORTY),
    ),
    _one("arguments twice", piece(0, V, FORTY, "a"), piece(0, None, FORTY), source="vllm#51697"),
    _one(
        "the whole call again at the end",
        piece(0, V, "", "a"),
        piece(0, None, FORTY),
        piece(1, V, FORTY, "a"),
        source="new-api#6278",
    ),
    _one(
        "one call under two indexes",
        piece(0, V, '{"volume"', "a"),
        piece(1, V, ":40}", "a"),
        source="LocalAI#9722",
    ),
    _one(
        "encoded twice at the end",
        piece(0, V, FORTY, "a"),
        piece(0, None, '"{\\"volume\\":40}"', "a"),
        source="litellm#20480",
    ),
    _one(
        "an empty piece behind it",
        piece(0, V, FORTY, "a"),
        piece(0, None, ""),
        source="vercel/ai#3953",
    ),
    _one("no level of the function", {"index": 0, "id": "a", "name": V, "arguments": FORTY}),
    # Several calls.
    Quirk(
        "two with indexes, interleaved",
        pieces=[
            piece(0, V, "", "a"),
            piece(1, V, "", "b"),
            piece(1, None, '{"volume":'),
            piece(0, None, FORTY),
            piece(1, None, "50}"),
        ],
        made=volume(40, 50),
    ),
    Quirk(
        "two in one delta",
        pieces=[[piece(0, V, FORTY, "a"), piece(1, V, '{"volume":50}', "b")]],
        made=volume(40, 50),
    ),
    Quirk(
        "two from index 1",
        pieces=[piece(1, V, FORTY, "a"), piece(2, V, '{"volume":50}', "b")],
        made=volume(40, 50),
    ),
    Quirk(
        "two with index 0",
        "ollama#15457",
        pieces=[piece(0, V, FORTY, "a"), piece(0, V, '{"volume":50}', "b")],
        made=volume(40, 50),
    ),
    Quirk(
        "two with index 0 and no ids",
        "openai-agents#2428",
        pieces=[piece(0, V, FORTY), piece(0, V, '{"volume":50}')],
        made=volume(40, 50),
    ),
    Quirk(
        "two with index 0, in pieces",
        pieces=[
            piece(0, V, "", "a"),
            piece(0, None, FORTY),
            piece(0, V, "", "b"),
            piece(0, None, '{"volume":50}'),
        ],
        made=volume(40, 50),
    ),
    Quirk(
        "two without index",
        pieces=[piece(None, V, FORTY, "a"), piece(None, V, '{"volume":50}', "b")],
        made=volume(40, 50),
    ),
    Quirk(
        "two without index, in pieces",
        pieces=[
            piece(None, V, "", "a"),
            piece(None, None, FORTY),
            piece(None, V, "", "b"),
            piece(None, None, '{"volume":50}'),
        ],
        made=volume(40, 50),
    ),
    Quirk(
        "two under one id",
        pieces=[piece(0, V, FORTY, "a"), piece(1, V, '{"volume":50}', "a")],
        made=volume(40, 50),
    ),
    Quirk(
        "two without arguments, index 0",
        pieces=[piece(0, L, "{}", "a"), piece(0, L, "{}", "b")],
        made=[(LAMP, {}), (LAMP, {})],
    ),
    Quirk(
        "two of other names, nothing else",
        pieces=[piece(None, L), piece(None, V, FORTY)],
        made=[(LAMP, {}), *volume(40)],
    ),
    Quirk(
        "two of other names, index 0",
        pieces=[piece(0, L, "", "a"), piece(0, CHINESE, "", "b")],
        made=[(LAMP, {}), (CHINESE, {})],
    ),
    # Other forms.
    Quirk(
        "one call and no list",
        pieces=[],
        answers=[
            Answer(
                [chunk({"tool_calls": piece(0, V, FORTY, "a")}, "tool_calls"), "data: [DONE]\n\n"]
            ),
            done(),
        ],
        made=volume(40),
    ),
    Quirk(
        "finished with stop",
        answers=[
            Answer(
                [
                    chunk({"tool_calls": [piece(0, V, FORTY, "a")]}),
                    chunk({}, "stop"),
                    "data: [DONE]\n\n",
                ]
            ),
            done(),
        ],
        made=volume(40),
    ),
    Quirk(
        "no end",
        answers=[Answer([chunk({"tool_calls": [piece(0, V, FORTY, "a")]})]), done()],
        made=volume(40),
    ),
    Quirk("the API before tools", answers=[_legacy(), done()], made=volume(40)),
    Quirk("a message and no delta", answers=[_message(), done()], made=volume(40)),
    Quirk(
        "an empty list of calls",
        answers=[Answer([chunk({"content": SAID, "tool_calls": []}, "stop")])],
        requests=1,
    ),
    Quirk(
        "a call of nothing",
        answers=[streamed([piece(0, "", "", "")]), done()],
        results=["there is no tool"],
    ),
]
