"""Tries what is chosen: a key, a voice, tools, and at the end every part as a turn uses it."""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from vixio.cli.diagnostics.say import say
from vixio.cli.diagnostics.voices import greeting, played
from vixio.cli.model_lines import ProgressLines, described
from vixio.cli.setup.choices import Choice
from vixio.cli.setup.pace import Pace, pace_here
from vixio.cli.setup.words import Words
from vixio.cli.status import StatusLine
from vixio.core.errors import ConfigError, ProviderError
from vixio.core.extras import Extra, how_to_install, install_command
from vixio.core.metrics import Counters
from vixio.providers.downloads.catalogue import find, load_catalogue
from vixio.providers.downloads.get import get, plan
from vixio.providers.downloads.hubs import Hubs
from vixio.providers.downloads.store import ModelStore
from vixio.providers.downloads.web import Web
from vixio.providers.health import Verifiable
from vixio.providers.model_path import models_folder
from vixio.providers.openai_client import OpenAIConnection, SharedClient
from vixio.settings import Settings, load_settings
from vixio.settings.provider import AgentSection, ASRSection, TTSSection
from vixio.tools.from_settings import make_runtime, make_sources, specs_of
from vixio.tools.registry import SourceContext

KEY_TIMEOUT_S: Final = 15.0
TOOLS_TIMEOUT_S: Final = 40.0
"""As `vixio check` has it: an MCP server gets 30 s to connect."""

Run = Callable[[list[str]], int]
"""Runs a program to its end, its output shown; returns its exit status."""


class SetupTrials:
    """The trials on this machine. Each runs an event loop of its own, for a program without one."""

    def __init__(self, show: Callable[[str], None], words: Callable[[], Words]) -> None:
        """``show``: what is going on; ``words``: in the language that is chosen by then."""
        self._show = show
        self._words = words

    def pace(self) -> Pace:
        """Return how fast this machine is."""
        return pace_here()

    def models(self, base_url: str, key: str) -> list[str] | None:
        """Return the models that a server lists; None: it does not say. Raises ProviderError."""
        return asyncio.run(list_models(base_url, key))

    def verify(self, kind: str, section: Any, env: Mapping[str, str]) -> bool | None:  # noqa: ANN401 - YAML
        """Ask a vendor whether it serves us with this section of the settings, free of charge.

        False: its answer does not show it; None: it cannot be asked. Raises ConfigError,
        ProviderError.
        """
        import yaml

        text = yaml.safe_dump({kind: section}, allow_unicode=True)
        return asyncio.run(verify(getattr(load_text(text, env, Path(kind)), kind)))

    def tools(self, name: str, server: dict[str, Any]) -> int:
        """Return the number of tools of an MCP server. Raises ConfigError."""
        return len(asyncio.run(list_tools(name, server, TOOLS_TIMEOUT_S)))

    def ready(self, name: str, options: Mapping[str, Any], env: Mapping[str, str]) -> str:
        """Try a ready tool; return how fast its service answers, empty if it asks none.

        Raises ConfigError, ToolError.
        """
        import yaml

        text = yaml.safe_dump({"tools": {"ready": [{name: dict(options)}]}}, allow_unicode=True)
        return asyncio.run(look(load_text(text, env, Path(name))))

    def install(self, choices: list[Choice]) -> None:
        """Install the extras that the choices need. Raises ConfigError."""
        extras = [each.extra for each in choices if each.extra is not None]
        if extras:
            self._show(self._words()("installing", names=", ".join(extras)))
            install(extras, _run)

    def fetch(self, model: str) -> None:
        """Install a model, with progress, unless it is there. Raises ModelError."""
        if not is_there(model):
            asyncio.run(fetch(model))

    def speak(self, section: Any, language: str, env: dict[str, str]) -> str:  # noqa: ANN401 - YAML
        """Speak a sentence; return the file to listen to, empty if it was played here.

        Raises ConfigError, ProviderError.
        """
        import yaml

        text = yaml.safe_dump({"assistant": {"language": language}, "tts": section})
        settings = load_text(text, env, Path("tts"))
        path = Path(tempfile.gettempdir()) / "vixio-voice.wav"
        with StatusLine() as status:
            words = greeting(language)
            asyncio.run(say(settings, words, path, language=language, progress=status.show))
        return "" if played(path) else str(path)


def install(extras: list[Extra], run: Run) -> None:
    """Install ``extras`` into the environment that runs. Raises ConfigError."""
    command = install_command(*extras)
    if command is None:
        raise ConfigError(f"it cannot be installed from here: {how_to_install(*extras)}")
    if run(command) != 0:
        raise ConfigError(
            f"{', '.join(extras)} could not be installed, see above; "
            f"again, by itself: {how_to_install(*extras)}"
        )
    importlib.invalidate_caches()  # so that what is new is found by this process


def _run(command: list[str]) -> int:
    sys.stdout.flush()  # so that the program's lines stand behind ours
    return subprocess.run(command, check=False).returncode  # noqa: S603 - of our own making


async def list_models(base_url: str, key: str) -> list[str] | None:
    """Return the models that a server lists; None: it does not say. Raises ProviderError."""
    options = {"base_url": base_url or None, "api_key": key or None}
    connection = OpenAIConnection.model_validate(options)
    client = SharedClient("openai", "agent", connection, timeout=KEY_TIMEOUT_S)
    try:
        await client.start()
        return await client.bounded(client.models(), "answer", KEY_TIMEOUT_S)
    finally:
        await client.close()


async def verify(section: ASRSection | AgentSection | TTSSection) -> bool | None:
    """Try a provider as :meth:`SetupTrials.verify` does. Raises ProviderError."""
    provider = section.create()
    try:
        async with asyncio.timeout(KEY_TIMEOUT_S):
            await provider.start()
            return await provider.verify() if isinstance(provider, Verifiable) else None
    except TimeoutError:
        text = f"no answer within {KEY_TIMEOUT_S:g} s"
        raise ProviderError(provider.name, text, reason="timeout") from None
    finally:
        await provider.close()


async def list_tools(name: str, server: object, limit: float) -> list[str]:
    """Return the names of an MCP server's tools, at most ``limit`` s later. Raises ConfigError."""
    settings = Settings.model_validate(
        {"mcp_servers": {name: server}, "tools": {"builtin": False, "entry_points": False}}
    )
    runtime = make_runtime(settings, Counters())
    try:
        await runtime.start()
        await runtime.ready(limit)
        listed = runtime.listed()
        if faults := runtime.faults:
            raise ConfigError(faults[0].reason)
        return [tool.name for tool in listed[name]]
    finally:
        await runtime.close()


async def look(settings: Settings) -> str:
    """Ask the service of the one ready tool of the settings. Raises ConfigError, ToolError."""
    (spec,) = (each for each in specs_of(settings) if each.type == "ready")
    (source,) = make_sources([spec], SourceContext(""))
    try:
        await source.start()
        if source.faults:
            raise ConfigError(source.faults[0].reason)
        return await source.look()
    finally:
        await source.close()


def load_text(text: str, env: Mapping[str, str], path: Path) -> Settings:
    """Return the settings of a text. Raises ConfigError that names ``path``."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "vixio.yaml")
        file.write_text(text, encoding="utf-8")
        try:
            return load_settings(file, env)
        except ConfigError as error:
            raise ConfigError(str(error).replace(str(file), str(path))) from error


def is_there(name: str) -> bool:
    """Return whether the model is installed. Raises ModelError."""
    return ModelStore(models_folder()).get(name) is not None


async def fetch(name: str) -> None:
    """Install the model; what has arrived is kept if it is interrupted. Raises ModelError."""
    model = find(load_catalogue(), name)
    store = ModelStore(models_folder())
    hubs = Hubs.from_environment(os.environ)
    with StatusLine() as status:
        report = ProgressLines(status, live=sys.stderr.isatty())
        async with Web() as web:
            its = await plan(model, store, web, hubs, report=report)
            status.line(described(its, store, ""))
            await get(model, store, web, hubs, report=report)
