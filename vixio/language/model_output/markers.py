"""The markers of known families of models, as tables.

Sources: the chat templates and parsers that the families publish, as vLLM (``tool_parsers``,
``reasoning``), SGLang and llama.cpp (``common/chat.cpp``) read them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from vixio.language.model_output import NOTHING, Further

PARTIAL: Final = 80
"""Characters that a marker may have: so many are looked at again with the next piece."""


class Span(NamedTuple):
    """Hidden text: what begins a stretch, and what ends it."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]


def normal(marker: str) -> str:
    """Return a marker as the tables have it: lower case, with ASCII bars and underscores."""
    return marker.lower().replace("｜", "|").replace("▁", "_").replace(" ", "_")


def pattern_of(marker: str) -> re.Pattern[str]:
    """Return a pattern for a marker of the tables, in whatever bars and case it is written."""
    text = re.escape(marker).replace(r"\|", "[|｜]").replace("_", "[_▁ ]")
    return re.compile(text, re.IGNORECASE)


_THOUGHTS: Final = (
    "think|thinking|thought|thoughts|reasoning|reason|reflection|scratchpad|inner_monologue"
    "|internal_monologue|chain_of_thought|cot|思考|思考过程|推理|推理过程"
)
_RESULTS: Final = (
    "tool_response|tool_responses|tool_result|tool_results|tool_output|function_results?"
)

THOUGHTS: Final = Span(
    re.compile(rf"<(?:[\w-]+:)?(?:{_THOUGHTS}|{_RESULTS})(?:\s[^<>]{{0,60}})?>", re.IGNORECASE),
    re.compile(rf"</(?:[\w-]+:)?(?:{_THOUGHTS}|{_RESULTS})\s*>", re.IGNORECASE),
)
DETAILS: Final = Span(re.compile(r"<details\b[^<>]{0,60}>"), re.compile(r"</details\s*>"))

THOUGHT_TAG: Final = re.compile(rf"(?:[\w-]+:)?(?:{_THOUGHTS}|{_RESULTS})", re.IGNORECASE)
"""Names of tags around what is not said: thoughts, and results of tools that a model invents."""

CALL_TAG: Final = re.compile(
    r"(?:[\w-]+:)?(?:tool_calls?|function_calls?|tool_use|tool_code)", re.IGNORECASE
)
"""Names of tags around calls."""

NAMED_CALL_TAG: Final = re.compile(r"(?:[\w-]+:)?(?:function|function_call|invoke)", re.IGNORECASE)
"""Names of tags that are one call, with the tool's name in them."""

WRAPPING_TAG: Final = re.compile(
    r"(?:answer|final|final_answer|response|output|reply|assistant)", re.IGNORECASE
)
"""Names of tags around the answer itself; the tags alone go."""

PLAIN_TOKENS: Final = frozenset(
    {"s", "bos", "eos", "pad", "unk", "mask", "sop", "eop", "cls", "sep"}
    | {"end_of_turn", "end_of_utterance", "end_of_text", "turn_end"}
)
"""Control tokens in the form of tags."""

TURN_TOKENS: Final = frozenset(
    {"<|im_start|>", "<|start_header_id|>", "<|start|>", "<|turn>", "<start_of_turn>"}
    | {"<|header_start|>", "<|role_start|>", "<|start_of_role|>"}
)
"""Tokens before the name of who speaks next."""

ASSISTANTS: Final = frozenset({"", "assistant", "model", "ai", "bot", "gpt", "chatbot"})
"""Names under which a model speaks itself; what others are made to say is not said."""

SPEAKERS: Final = frozenset({"user", "human", "system", "developer", "tool", "observation"})
SPEAKER_TOKENS: Final = {
    **{f"<|{name}|>": name for name in (*SPEAKERS, "assistant")},
    "<|user_token|>": "user",
    "<|system_token|>": "system",
    "<|chatbot_token|>": "chatbot",
    "<|ipython|>": "tool",
}
"""Tokens that name who speaks next themselves."""

SPEAKS: Final = TURN_TOKENS | frozenset(SPEAKER_TOKENS)

CHANNEL: Final = "<|channel|>"
MESSAGE: Final = "<|message|>"
"""Of gpt-oss (https://cookbook.openai.com/articles/openai-harmony): a header, and its end."""

ANALYSIS: Final = Span(
    re.compile(r"(?!)"), re.compile(r"(?=<\|(?:end|return|call|start|channel)\|>)")
)

_REASONING: Final = {
    "<|channel>": "<channel|>",
    "<|think|>": "<|/think|>",
    "<|thinking|>": "<|/thinking|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|think_start|>": "<|think_end|>",
    "<|begin_of_thinking|>": "<|end_of_thinking|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "◁think▷": "◁/think▷",
    "[think]": "[/think]",
    "[thinking]": "[/thinking]",
    "[thought]": "[/thought]",
    "[reasoning]": "[/reasoning]",
}
_CALLS: Final = {
    "<|tool_calls_begin|>": "<|tool_calls_end|>",
    "<|tool_call_begin|>": "<|tool_call_end|>",
    "<|tool_calls_section_begin|>": "<|tool_calls_section_end|>",
    "<|tool_call_section_begin|>": "<|tool_call_section_end|>",
    "<|dsml|function_calls>": "</|dsml|function_calls>",
    "<|dsml|tool_calls>": "</|dsml|tool_calls>",
    "<|tool_call>": "<tool_call|>",
    "<|tool_call|>": "<|/tool_call|>",
    "<|tool_calls|>": "<|/tool_calls|>",
    "<|function_call|>": "<|/function_call|>",
    "<|python_tag|>": "<|eom_id|>",
    "<|python_start|>": "<|python_end|>",
    "<|action_start|>": "<|action_end|>",
    "<|start_action|>": "<|end_action|>",
    "<|tool_call_start|>": "<|tool_call_end|>",
    "<|tools_prefix|>": "<|tools_suffix|>",
    "<start_function_call>": "<end_function_call>",
    "[tool_calls]": "[/tool_calls]",
    "[tool_call]": "[/tool_call]",
    "[tool_request]": "[end_tool_request]",
    "✿function✿": "✿return✿",
}

BEGUN: Final = (
    "here is my thought process:",
    "here's my thought process:",
    "here is my thinking process:",
    "here's my thinking process:",
    "analysis",
)
"""Beginnings of an answer that is reasoning: Granite 3; gpt-oss whose tokens a server removed."""

BEGUN_SPAN: Final = Span(
    re.compile(r"Here(?:'s| is) my th(?:ought|inking) process:|analysis(?=[A-Z\u4e00-\u9fff])"),
    re.compile(r"Here(?:'s| is) my response:|assistantfinal"),
)

_BRACKETS: Final = ("[inst]", "[/inst]", "[gmask]", "[/tool_results]")

CALL_LANGUAGES: Final = frozenset(
    {"tool_code", "tool_call", "tool_calls", "tool_use", "tool", "action"}
    | {"function_call", "function_calls"}
)
"""Languages of code blocks that are calls."""

CODE_LANGUAGES: Final = frozenset({"", "json", "python", "py", "xml"})
"""Languages of code blocks that may be calls."""


@dataclass(frozen=True, slots=True)
class Markers:
    """The tables of one reader, by the markers as ``normal`` writes them."""

    reasoning: Mapping[str, Span]
    calls: Mapping[str, Span]
    removed: frozenset[str]
    literal: tuple[str, ...]
    """Of all tables, the markers that do not begin with ``<``."""
    tags: frozenset[str]
    """Of all tables, the markers in the form of a tag: ``<name>``."""
    plain: re.Pattern[str]
    """A run of text in which neither a marker nor a sentence begins."""


@lru_cache(maxsize=64)
def markers(further: Further) -> Markers:
    """Return the tables with what a user adds."""
    pairs = {**_REASONING, **{normal(opening): normal(end) for opening, end in further.reasoning}}
    spans = {opening: Span(pattern_of(opening), pattern_of(end)) for opening, end in pairs.items()}
    calls = {
        opening: Span(pattern_of(opening), _end_of_calls(end)) for opening, end in _CALLS.items()
    }
    tokens = frozenset(
        (*map(normal, further.removed), *_BRACKETS, *pairs.values(), *_CALLS.values())
    )
    literal = {each for each in (*pairs, *_CALLS, *tokens) if each[0] not in "<\n"}
    stops = "".join(sorted({each[0] for each in literal if not each[0].isalnum()}))
    plain = re.compile(
        rf"(?:[^\s<`(（【{{.!?:…。！？：；\"'”’)*_{re.escape(stops)}]|(?<=[\w,，;—-]) (?=\w))+"
    )
    tags = frozenset({*pairs, *_CALLS, *tokens, *TURN_TOKENS, "<details>"})
    return Markers(spans, calls, tokens, tuple(sorted(literal)), tags, plain)


def _end_of_calls(end: str) -> re.Pattern[str]:
    pattern = pattern_of(end).pattern
    if end == "<|eom_id|>":
        pattern += r"|<\|eot_id\|>"
    return re.compile(pattern, re.IGNORECASE)


MARKERS: Final = markers(NOTHING)
