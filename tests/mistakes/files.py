"""Mistakes in files: the wrong one, none, a folder, of another kind or encoding."""

from __future__ import annotations

from tests.mistakes.kit import Mistake

FILES = (
    Mistake(
        name="no such file",
        story="Mistypes the name of the file.",
        command="vixio check --config vixo.yaml",
        settings="server:\n  port: 8100\n",
    ),
    Mistake(
        name="no such file for serve",
        story="Starts the server with a file that is not there.",
        command="vixio serve --config /etc/vixio/vixio.yaml",
    ),
    Mistake(
        name="a folder",
        story="Gives the folder of the settings.",
        command="vixio serve --config settings",
        files={"settings": None},
    ),
    Mistake(
        name="a file by a variable",
        story="Keeps VIXIO_CONFIG from an earlier installation.",
        command="vixio serve",
        environment={"VIXIO_CONFIG": "/opt/old/vixio.yaml"},
    ),
    Mistake(
        name="an audio file",
        story="Gives an audio file as the settings.",
        command="vixio serve --config hello.wav",
        files={"hello.wav": b"RIFF\xa4\x3e\x00\x00WAVEfmt \x10\x00\x00\x00"},
    ),
    Mistake(
        name="UTF-16",
        story="Saves the file as Unicode, which is UTF-16 in some editors.",
        settings="server:\n  port: 8100\n".encode("utf-16"),
    ),
    Mistake(
        name="a legacy encoding",
        story="Saves the file in GBK.",
        settings="assistant:\n  place: 厨房\n".encode("gbk"),
    ),
    Mistake(
        name="a file of another program",
        story="Gives the settings of a desktop client of MCP.",
        settings='{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}\n',
    ),
    Mistake(
        name="settings of another server",
        story="Keeps the keys of another server for these devices.",
        settings=(
            "server:\n  ip: 0.0.0.0\n  port: 8000\nselected_module:\n  VAD: SileroVAD\n"
            "  LLM: ChatGLMLLM\n"
        ),
    ),
    Mistake(
        name="the .env file",
        story="Gives the file with the secrets as the settings.",
        command="vixio check --config .env",
        files={".env": "# secrets\nOPENAI_API_KEY=sk-1234567890\n"},
    ),
    Mistake(
        name="JSON with a comma too many",
        story="Writes the settings as JSON, with a comma behind the last key and a comment.",
        settings='{\n  "server": {\n    "port": 8100,\n  }, // the port\n}\n',
    ),
    Mistake(
        name="a byte order mark and CRLF",
        story="Saves the file on Windows, and misspells a key.",
        settings="\ufeffserver:\r\n  prot: 8100\r\n",
    ),
    Mistake(
        name="an empty file",
        story="Creates the file and writes nothing into it; the defaults apply.",
        command="vixio memory",
        settings="",
        status=0,
    ),
    Mistake(
        name="everything commented out",
        story="Comments all keys of a section out; the defaults apply.",
        command="vixio memory",
        settings="server:\n#  port: 8100\n",
        status=0,
    ),
    Mistake(
        name="Python for YAML",
        story="Gives a program as the settings.",
        command="vixio serve --config main.py",
        files={"main.py": "from vixio import Server\n\nServer().run()\n"},
    ),
)
