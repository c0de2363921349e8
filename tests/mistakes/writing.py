"""Mistakes in writing YAML: indentation, colons, quotes, lists, from keyboards of all kinds."""

from __future__ import annotations

from tests.mistakes.kit import Mistake

WRITING = (
    Mistake(
        name="a tab in front of a key",
        story="Indents with the tab key.",
        settings="server:\n\tport: 8100\n",
    ),
    Mistake(
        name="a tab after spaces",
        story="Mixes spaces and a tab in the indentation.",
        settings="server:\n  port: 8100\n  \tauth:\n    enabled: false\n",
    ),
    Mistake(
        name="a tab between key and value",
        story="Lines the values up with tabs.",
        settings="server:\n  port:\t8100\n  http_port\t: 8101\n",
    ),
    Mistake(
        name="a tab before a comment",
        story="Pastes a line with a tab at its end.",
        settings="assistant:\n  language: en\n\t# spoken by all\n  place: Berlin\n",
    ),
    Mistake(
        name="a full-width colon",
        story="Types the colon with a Chinese keyboard.",
        settings="assistant:\n  language： zh-CN\n",
    ),
    Mistake(
        name="a full-width colon on a section",
        story="Types the colon of a section with a Chinese keyboard.",
        settings="assistant：\n  language: zh-CN\n",
    ),
    Mistake(
        name="full-width colons throughout",
        story="Types the whole file with a Chinese keyboard.",
        settings="server：\n  port：8100\n",
    ),
    Mistake(
        name="full-width quotes",
        story="Quotes a text with a Chinese keyboard.",
        settings="agent:\n  name: openai\n  api_key: k\n  base_url: “http://127.0.0.1:9/v1”\n",
    ),
    Mistake(
        name="typographic quotes around a number",
        story="Copies a line from a word processor.",
        settings="server:\n  port: ‘8100’\n",
    ),
    Mistake(
        name="a full-width comma",
        story="Separates keys in braces with a Chinese keyboard.",
        settings="output: {frame_ms: 60，sample_rate: 24000}\n",
    ),
    Mistake(
        name="a full-width space",
        story="Indents with a full-width space.",
        settings="server:\n　port: 8100\n",
    ),
    Mistake(
        name="a no-break space",
        story="Copies lines from a web page, with no-break spaces in front of a key.",
        settings="server:\n\u00a0\u00a0port: 8100\n",
    ),
    Mistake(
        name="full-width digits",
        story="Types a number with a Chinese keyboard.",
        settings="server:\n  port: ８１００\n",
    ),
    Mistake(
        name="no space after the colon",
        story="Leaves the space after the colon out.",
        settings="server:\n  port:8100\n",
    ),
    Mistake(
        name="no space after the colon among others",
        story="Leaves the space after one of several colons out.",
        settings="server:\n  host: 0.0.0.0\n  port:8100\n  http_port: 8101\n",
    ),
    Mistake(
        name="an equals sign",
        story="Writes settings as in an .ini file.",
        settings="server:\n  port = 8100\n",
    ),
    Mistake(
        name="a section in brackets",
        story="Writes a section as in an .ini file.",
        settings="[server]\nport = 8100\n",
    ),
    Mistake(
        name="uneven indentation",
        story="Indents one key of a section by a space more.",
        settings="server:\n  port: 8100\n   http_port: 8101\n",
    ),
    Mistake(
        name="less indentation",
        story="Indents one key of a section by a space less.",
        settings="server:\n  port: 8100\n http_port: 8101\n",
    ),
    Mistake(
        name="no indentation",
        story="Does not indent the keys of a section.",
        settings="server:\nport: 8100\n",
    ),
    Mistake(
        name="an open quote",
        story="Forgets the closing quote.",
        settings='assistant:\n  place: "the kitchen\n  language: en\n',
    ),
    Mistake(
        name="an apostrophe",
        story="Quotes a text with an apostrophe by apostrophes.",
        settings="assistant:\n  place: 'Anna's kitchen'\n",
    ),
    Mistake(
        name="a colon in a text",
        story="Writes a text with a colon and without quotes.",
        settings="assistant:\n  instructions: Rule one: be brief.\n",
    ),
    Mistake(
        name="a text that begins with a bracket",
        story="Writes a text that begins with a bracket without quotes.",
        settings="assistant:\n  instructions: [Be brief] and kind.\n",
    ),
    Mistake(
        name="a percent sign",
        story="Begins a value with a percent sign.",
        settings="assistant:\n  place: %HOME%\n",
    ),
    Mistake(
        name="an at sign",
        story="Begins a value with an at sign.",
        settings="assistant:\n  user_name: @anna\n",
    ),
    Mistake(
        name="an asterisk",
        story="Allows all tools by a bare asterisk.",
        settings="tools:\n  policy:\n    allow: [*]\n",
    ),
    Mistake(
        name="a Windows path in quotes",
        story="Writes a path of Windows in double quotes.",
        settings='data:\n  folder: "C:\\Users\\anna\\data"\n',
    ),
    Mistake(
        name="a key twice",
        story="Sets a key, and again further down.",
        settings="server:\n  port: 8100\nlogging:\n  level: DEBUG\nserver:\n  port: 8200\n",
    ),
    Mistake(
        name="an open bracket",
        story="Forgets the closing bracket of a list.",
        settings="assistant:\n  wake_words: [hello, computer\n  language: en\n",
    ),
    Mistake(
        name="a list without spaces",
        story="Leaves the space after the dash out.",
        settings="assistant:\n  wake_words:\n    -hello\n    -computer\n",
    ),
    Mistake(
        name="a variable in braces without quotes",
        story="Uses a variable within braces.",
        settings="agent: {name: openai, api_key: ${MY_KEY}}\n",
        environment={"MY_KEY": "k"},
    ),
    Mistake(
        name="two documents",
        story="Pastes a second file behind the first one.",
        settings="server:\n  port: 8100\n---\nlogging:\n  level: INFO\n",
    ),
)
