"""What models write, and what is text for the user in it: one row a form.

The forms are those of the chat templates and parsers that the families publish.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

LAMP: Final = "self_lamp_turn_on"
VOLUME: Final = "self_audio_speaker_set_volume"
SAY: Final = "show_text"
CHINESE: Final = "打开灯"

TOOLS: Final[dict[str, dict[str, Any]]] = {
    LAMP: {"type": "object", "properties": {}},
    "self.lamp.turn_on": {"type": "object", "properties": {}},
    VOLUME: {"type": "object", "properties": {"volume": {"type": "integer"}}},
    SAY: {
        "type": "object",
        "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
    },
    CHINESE: {"type": "object", "properties": {}},
}

Calls = tuple[tuple[str, dict[str, Any]], ...]
"""Names of tools, and the arguments for them."""

ON: Final[Calls] = ((LAMP, {}),)
FORTY: Final[Calls] = ((VOLUME, {"volume": 40}),)
BOTH: Final[Calls] = (*FORTY, *ON)


class Row(NamedTuple):
    """``said``: the text for the user. ``unread``: the number of calls that cannot be read."""

    written: str
    said: str
    calls: Calls = ()
    unread: int = 0


_ON = '{"name": "self_lamp_turn_on", "arguments": {}}'
_FORTY = '{"name": "self_audio_speaker_set_volume", "arguments": {"volume": 40}}'

CALLS: Final = (
    # Hermes, Qwen 2.5 and 3
    Row(f"<tool_call>\n{_ON}\n</tool_call>", "", ON),
    Row(f"Sure, turning it on. <tool_call>\n{_ON}\n</tool_call>", "Sure, turning it on. ", ON),
    Row(f"Turning it on <tool_call>{_ON}</tool_call> now.", "Turning it on  now.", ON),
    Row(f"<tool_call>\n{_FORTY}\n</tool_call>\n<tool_call>\n{_ON}\n</tool_call>", "", BOTH),
    Row(f"<tool_call>{_FORTY}<tool_call>{_ON}", "", BOTH),
    Row(f"<TOOL_CALL>{_ON}</TOOL_CALL>", "", ON),
    Row(f"<tool_call>{_FORTY[:-1]}</tool_call>", "", FORTY),
    Row(f"<tool_call>{_FORTY}}}\n", "", FORTY),
    Row("<tool_call>{'name': 'self_lamp_turn_on', 'arguments': {}}</tool_call>", "", ON),
    Row(f"<tool_call>```json\n{_ON}\n```</tool_call>", "", ON),
    Row(f"<tool_call>[{_FORTY}, {_ON}]</tool_call>", "", BOTH),
    Row('<tool_call>{"function": "self_lamp_turn_on", "args": {}}</tool_call>', "", ON),
    Row(f'<tool_call>{{"type": "function", "function": {_FORTY}}}</tool_call>', "", FORTY),
    Row(
        '<tool_call>{"name": "self_audio_speaker_set_volume", "arguments": "{\\"volume\\": 40}"}'
        "</tool_call>",
        "",
        FORTY,
    ),
    Row('<tool_call>{"self_lamp_turn_on": {}}</tool_call>', "", ON),
    Row("<tool_call>what?</tool_call>", "", unread=1),
    Row('Well. <tool_call>{"name"', "Well. ", unread=1),
    # Qwen3-Coder, Seed-OSS
    Row(
        f"<tool_call>\n<function={VOLUME}>\n<parameter=volume>\n40\n</parameter>\n</function>\n"
        "</tool_call>",
        "",
        FORTY,
    ),
    Row(f"<function={VOLUME}><parameter=volume>40</parameter></function>", "", FORTY),
    Row(f'<function={VOLUME}>{{"volume": 40}}</function>', "", FORTY),
    Row(f"<function={LAMP}></function> Done.", "Done.", ON),
    Row(
        f"<function={SAY}><parameter=text>40</parameter><parameter=times>2</parameter></function>",
        "",
        ((SAY, {"text": "40", "times": 2}),),
    ),
    Row(
        f"<seed:tool_call><function={VOLUME}><parameter=volume>40</parameter></function>"
        "</seed:tool_call>",
        "",
        FORTY,
    ),
    # GLM 4.5
    Row(
        f"<tool_call>{VOLUME}\n<arg_key>volume</arg_key>\n<arg_value>40</arg_value>\n</tool_call>",
        "",
        FORTY,
    ),
    Row(f"<tool_call>{LAMP}\n</tool_call>", "", ON),
    # DeepSeek R1, V3, V3.1, V3.2
    Row(
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{LAMP}\n```json\n{{}}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "",
        ON,
    ),
    Row(
        f'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{VOLUME}<｜tool▁sep｜>{{"volume": 40}}'
        f"<｜tool▁call▁end｜><｜tool▁call▁begin｜>{LAMP}<｜tool▁sep｜>{{}}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        "",
        BOTH,
    ),
    Row(
        f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="{VOLUME}">\n'
        '<｜DSML｜parameter name="volume" string="false">40</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        "",
        FORTY,
    ),
    Row(
        f'<｜DSML｜function_calls><｜DSML｜invoke name="{SAY}"><｜DSML｜parameter name="text"'
        ' string="true">7</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>',
        "",
        ((SAY, {"text": "7"}),),
    ),
    # Mistral
    Row(f"[TOOL_CALLS][{_ON}]", "", ON),
    Row(f"[TOOL_CALLS] [{_FORTY}, {_ON}]</s>", "", BOTH),
    Row(f'[TOOL_CALLS]{VOLUME}[ARGS]{{"volume": 40}}', "", FORTY),
    Row(
        f'[TOOL_CALLS]{VOLUME}[CALL_ID]abc123[ARGS]{{"volume": 40}}[TOOL_CALLS]{LAMP}[ARGS]{{}}',
        "",
        BOTH,
    ),
    Row(f'[TOOL_CALLS]{VOLUME}{{"volume": 40}}', "", FORTY),
    # Llama 3, Llama 4
    Row(
        f'<|python_tag|>{{"type": "function", "name": "{LAMP}", "parameters": {{}}}}<|eom_id|>',
        "",
        ON,
    ),
    Row(f"<|python_tag|>{VOLUME}.call(volume=40)", "", FORTY),
    Row('{"name": "self_lamp_turn_on", "parameters": {}}', "", ON),
    Row(f"<|python_start|>[{VOLUME}(volume=40), {LAMP}()]<|python_end|>", "", BOTH),
    Row(f"[{VOLUME}(volume=40), {LAMP}()]", "", BOTH),
    # Gemma 3, FunctionGemma, Gemma 4
    Row(f"```tool_code\n{LAMP}()\n```", "", ON),
    Row(f"```tool_code\nprint(default_api.{VOLUME}(volume=40))\n```\nDone.", "Done.", FORTY),
    Row(f"<start_function_call>call:{VOLUME}{{volume:40}}<end_function_call>", "", FORTY),
    Row(
        f"<start_function_call>call:{SAY}{{text:<escape>a, {{b}}<escape>}}<end_function_call>",
        "",
        ((SAY, {"text": "a, {b}"}),),
    ),
    Row(f"<|tool_call>call:{LAMP}{{}}<tool_call|>", "", ON),
    Row(
        f'<|tool_call>call:{SAY}{{text:<|"|>say "hi": now<|"|>,times:2}}<tool_call|>',
        "",
        ((SAY, {"text": 'say "hi": now', "times": 2}),),
    ),
    # Kimi K2
    Row(
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{VOLUME}:0"
        '<|tool_call_argument_begin|>{"volume": 40}<|tool_call_end|><|tool_call_begin|>'
        f"functions.{LAMP}:1<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
        "<|tool_calls_section_end|>",
        "",
        BOTH,
    ),
    # gpt-oss
    Row(
        f"<|channel|>commentary to=functions.{VOLUME} <|constrain|>json<|message|>"
        '{"volume":40}<|call|>',
        "",
        FORTY,
    ),
    Row(
        f"<|start|>assistant to=functions.{LAMP}<|channel|>commentary json<|message|>{{}}<|call|>",
        "",
        ON,
    ),
    Row(
        "<|channel|>commentary<|message|>I switch it on.<|end|><|start|>assistant<|channel|>"
        f"commentary to=functions.{LAMP}<|message|>{{}}<|call|>",
        "I switch it on.",
        ON,
    ),
    # Anthropic, MiniMax, Step, Grok
    Row(
        f'<function_calls><invoke name="{VOLUME}"><parameter name="volume">40</parameter></invoke>'
        "</function_calls>",
        "",
        FORTY,
    ),
    Row(f'<invoke name="{LAMP}">\n</invoke>', "", ON),
    Row(
        f'<minimax:tool_call>\n<invoke name="{VOLUME}">\n<parameter name="volume">40</parameter>\n'
        "</invoke>\n</minimax:tool_call>",
        "",
        FORTY,
    ),
    Row(
        f'<xai:function_call name="{VOLUME}"><parameter name="volume">40</parameter>'
        "</xai:function_call>",
        "",
        FORTY,
    ),
    # Cohere, Phi, Granite, InternLM, LFM2, Apertus, Jamba, Olmo, Cline, LM Studio, Qwen-Agent
    Row(
        "<|START_THINKING|>It is dark.<|END_THINKING|><|START_ACTION|>"
        '[{"tool_call_id": "0", "tool_name": "self_lamp_turn_on", "parameters": {}}]<|END_ACTION|>',
        "",
        ON,
    ),
    Row(f"<|tool_call|>[{_ON}]<|/tool_call|>", "", ON),
    Row(f"<|tool_call|>[{_FORTY}]", "", FORTY),
    Row(f"functools[{_ON}]", "", ON),
    Row(f"<|action_start|><|plugin|>\n{_ON}<|action_end|>", "", ON),
    Row(f"<|tool_call_start|>[{VOLUME}(volume=40)]<|tool_call_end|>", "", FORTY),
    Row(f'<|tools_prefix|>[{{"{VOLUME}": {{"volume": 40}}}}]<|tools_suffix|>', "", FORTY),
    Row(f"<tool_calls>[{_ON}]</tool_calls>", "", ON),
    Row(f"<function_calls>\n{VOLUME}(volume=40)\n</function_calls>", "", FORTY),
    Row(
        f'<tool_use><name>{VOLUME}</name><arguments>{{"volume": 40}}</arguments></tool_use>',
        "",
        FORTY,
    ),
    Row(f"[TOOL_REQUEST]{_ON}[END_TOOL_REQUEST]", "", ON),
    Row(f'✿FUNCTION✿: {VOLUME}\n✿ARGS✿: {{"volume": 40}}\n✿RETURN✿', "", FORTY),
    Row(f'Action: {VOLUME}\nAction Input: {{"volume": 40}}', "", FORTY),
    # bare
    Row(_ON, "", ON),
    Row(f"Sure:\n{_ON}", "Sure:\n", ON),
    Row(f"```json\n{_FORTY}\n```", "", FORTY),
    Row(f"```\n[{_FORTY}, {_ON}]\n```", "", BOTH),
    Row(f'{{"tool_calls": [{_FORTY}]}}', "", FORTY),
    Row(f"<function_call>{_ON}</function_call>", "", ON),
    Row(f"{LAMP}()", "", ON),
    Row(f"{VOLUME}(40)", "", FORTY),
    Row(f"functions.{VOLUME}(volume=40)", "", FORTY),
    Row("self.lamp.turn_on()", "", (("self.lamp.turn_on", {}),)),
    Row(f'{VOLUME}{{"volume": 40}}', "", FORTY),
    Row(f"I do it. {LAMP}().", "I do it. ", ON),
    Row(f"[调用工具: {LAMP}]", "", ON),
    Row(f"[Calling tool: {VOLUME}(volume=40)]", "", FORTY),
    Row("好的。（正在调用 打开灯）", "好的。", ((CHINESE, {}),)),
    Row("打开灯()", "", ((CHINESE, {}),)),
    Row("【调用工具：打开灯】", "", ((CHINESE, {}),)),
)

REASONING: Final = (
    Row("<think>It is a greeting.</think>\n\nHello there.", "Hello there."),
    Row("<thinking>a < b</thinking>Yes.", "Yes."),
    Row("<THINK>x</THINK>Hello there.", "Hello there."),
    Row('<think time="3s">x</think>Hello there.', "Hello there."),
    Row("<seed:think>x. y</seed:think>Hello there.", "Hello there."),
    Row("<thought>x</thought>Hello there.", "Hello there."),
    Row("<reasoning>\nx\n</reasoning>\nHello there.", "Hello there."),
    Row("<scratchpad>x</scratchpad>Hello there.", "Hello there."),
    Row("<thinking>x</thinking>Hello there.", "Hello there."),
    Row("<思考>用户在打招呼</思考>你好。", "你好。"),
    Row("[THINK]The user greets me. I greet back.[/THINK]Hello there.", "Hello there."),
    Row("◁think▷The user greets me.◁/think▷Hello there.", "Hello there."),
    Row("<|channel>thought\nThe user greets me.\n<channel|>Hello there.", "Hello there."),
    Row("<|START_THINKING|>x<|END_THINKING|>Hello there.", "Hello there."),
    Row(
        "<|begin_of_thought|>x<|end_of_thought|><|begin_of_solution|>Hello.<|end_of_solution|>",
        "Hello.",
    ),
    Row(
        '<details type="reasoning"><summary>Thought</summary>The user.</details>Hello there.',
        "Hello there.",
    ),
    Row(
        "<details><b>More</b>Text</details>",
        "<details><b>More</b>Text</details>",
    ),
    Row(
        "<|channel|>analysis<|message|>The user wants a greeting. I should be brief.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>Hello there.<|return|>",
        "Hello there.",
    ),
    Row("analysisThe user greets me.assistantfinalHello there.", "Hello there."),
    Row("Here is my thought process:\nx\n\nHere is my response:\nHello there.", "Hello there."),
    Row("<think>a <think>b</think> c</think>Hello there.", "Hello there."),
    Row("<think>the tag <think> is meant</think>Hello there.", "Hello there."),
    Row("<think>a</think><think>b</think>Hello there.", "Hello there."),
    Row("<think></think>", ""),
    Row("<think>never closed", ""),
    Row("hm</think>Hello there.", "hmHello there."),
    Row("Hello <think>hm</think>there.", "Hello there."),
    Row("One moment.\n<think>hm\nhm</think>\nDone.", "One moment.\n\nDone."),
    Row(f"<think>I call it. <tool_call>{_ON}</tool_call>", "", ON),
    Row("<tool_response>21 degrees</tool_response>It is warm.", "It is warm."),
    # only mentioned
    Row(
        "In HTML, the <think> element does not exist. Use a div.",
        "In HTML, the <think> element does not exist. Use a div.",
    ),
    Row(
        "The tag <think> is used by reasoning models. It is removed by Vixio. I hope that helps.",
        "The tag <think> is used by reasoning models. It is removed by Vixio. I hope that helps.",
    ),
    Row("Sure.\n<think> is a tag of models.", "Sure.\n<think> is a tag of models."),
    Row("Use `<think>` here, and `</think>` there.", "Use `<think>` here, and `</think>` there."),
    Row("Wrap it in <tool_call> tags, please.", "Wrap it in <tool_call> tags, please."),
    Row("```html\n<think>x</think>\n```\nDone.", "```html\n<think>x</think>\n```\nDone."),
    Row("Analysis shows that it works.", "Analysis shows that it works."),
    Row("Here is my thought: it works.", "Here is my thought: it works."),
)

TOKENS: Final = (
    Row("Hello there.<|im_end|>", "Hello there."),
    Row("Hello there.<|eot_id|><|endoftext|>", "Hello there."),
    Row("Hello there.</s>", "Hello there."),
    Row("<s>Hello there.<eos>", "Hello there."),
    Row("Hello there.<end_of_turn>", "Hello there."),
    Row("Hello there.<｜end▁of▁sentence｜>", "Hello there."),
    Row("<|im_start|>assistant\nHello there.<|im_end|>", "Hello there."),
    Row("<|start_header_id|>assistant<|end_header_id|>\n\nHello there.", "Hello there."),
    Row("<start_of_turn>model\nHello there.<end_of_turn>", "Hello there."),
    Row("<|START_RESPONSE|>Hello there.<|END_RESPONSE|>", "Hello there."),
    Row("<|begin_of_box|>42<|end_of_box|> it is.", "42 it is."),
    Row("[INST] Hello there. [/INST]", "Hello there. "),
    Row("[gMASK]<sop><|assistant|>Hello there.", "Hello there."),
    Row("<answer>Hello there.</answer>", "Hello there."),
    Row("<final_answer>Hello there.</final_answer>", "Hello there."),
    Row(
        "Hello.<|im_end|>\n<|im_start|>user\nAnd you?<|im_end|>\n<|im_start|>assistant\nFine.",
        "Hello.\n\nFine.",
    ),
    Row("Hello.\n<|user|>And you?", "Hello.\n"),
    Row("Hello.<end_of_turn>\n<start_of_turn>user\nAnd you?", "Hello.\n"),
    # an answer in a wrapping
    Row('{"response": "Hello there."}', "Hello there."),
    Row('{"answer": "Hello there.", "emotion": "happy"}', "Hello there."),
    Row('```json\n{"reply": "Hello there."}\n```', "Hello there."),
    Row('{"回答": "你好。"}', "你好。"),
    Row('{"name": "Bob", "age": 4}', '{"name": "Bob", "age": 4}'),
    Row('{"name": "Bob", "arguments": {}}', '{"name": "Bob", "arguments": {}}'),
    Row('It is {"answer": "x"} in JSON.', 'It is {"answer": "x"} in JSON.'),
)

ORDINARY: Final = (
    "3 < 4 and <b>bold</b> <",
    "Is 5 <x and y> 3?",
    "The list [1] is {a} (see below). [x] done",
    "I [really] mean it! (Well.) {ok}",
    f"{VOLUME} is the function; call {LAMP}() to switch.",
    f"{LAMP}() switches the lamp on.",
    "Show it. Show text (in red) now.",
    "Call me. Calling tools is easy. (Call me later.)",
    "[Note: tools are off.] Tool time: 10:30.",
    "f <| x |> g, and a |> b. <|> is an operator.",
    "```python\nprint('x')\n```\nThat is it.",
    "He said: “Hello.” …And then? Yes!",
    "你好。（笑）今天（周一）天气：晴！[1]",
    "Action! Action: run. Print it. Functions. are fun.",
    "ends with <thin",
    "`self_lamp_turn_on()` is how you call it.",
)
"""Text that passes as it is."""

ALL: Final = (*CALLS, *REASONING, *TOKENS, *(Row(text, text) for text in ORDINARY))
