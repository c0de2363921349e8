"""Imports follow the rules of docs/architecture.md.

``core`` ← provider interfaces ← ``stations``; ``core`` ← ``transports``; a provider's folder sees
neither stations, transports nor another provider's folder. Only the modules in ``SEES_ALL`` see
across.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support.import_rules import ANY, RULES, Rule
from tests.support.source_code import statements

ROOT = Path(__file__).resolve().parents[2]


def index_of_rule(module: str, rules: Sequence[Rule] = RULES) -> int | None:
    """Return which rule holds for a module of ``vixio``; none: it is in no known area."""
    parts = module.split(".")
    for index, rule in enumerate(rules):
        area = rule.area.split(".")
        its = parts[: len(area)]
        fits = len(its) == len(area) and all(
            want in {"*", have} for want, have in zip(area, its, strict=True)
        )
        if fits and not (rule.alone and len(parts) > len(area)):
            return index
    return None


def rule_of(module: str) -> Rule | None:
    """Return the rule for a module of ``vixio``, its area spelled out."""
    index = index_of_rule(module)
    if index is None:
        return None
    depth = len(RULES[index].area.split("."))
    return replace(RULES[index], area=".".join(module.split(".")[:depth]))


def dead_rules(names: Iterable[str], rules: Sequence[Rule] = RULES) -> list[str]:
    """Return the areas of the rules that hold for no module: an earlier one fits them all."""
    alive = {index_of_rule(name, rules) for name in names}
    return [rule.area for index, rule in enumerate(rules) if index not in alive]


def unknown_areas(names: Collection[str], rules: Sequence[Rule] = RULES) -> set[str]:
    """Return what rules allow to import, and which is no module or package of ours."""
    areas = {area for rule in rules for area in rule.ours if within(area, "vixio")}
    return {area for area in areas if not any(within(name, area) for name in names)}


@dataclass(frozen=True)
class Import:
    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer} line {self.line} imports {self.imported}"


def modules(base: Path, package: str) -> dict[str, Path]:
    """The modules of ``package`` below the directory ``base``, by dotted name."""
    found: dict[str, Path] = {}
    for path in sorted((base / package).rglob("*.py")):
        parts = path.relative_to(base).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """Every import of a module, those inside functions and for the type checker as well."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in statements(ast.parse(path.read_text(encoding="utf-8"), str(path)).body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                source = ".".join(filter(None, (*above, source)))
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                # The names of the root package come from everywhere: each counts by itself.
                named = whole in known or source == "vixio"
                yield Import(name, whole if named else source, node.lineno)


def within(module: str, area: str) -> bool:
    return module == area or module.startswith(f"{area}.")


def allowed(imported: str, rule: Rule) -> bool:
    top = imported.partition(".")[0]
    if top in sys.stdlib_module_names or within(imported, rule.area):
        return True
    if top in {"vixio", "firmware_test_client"}:
        # Of the root package's names only the version may be used inside.
        version = imported == "vixio.__version__" and rule.area != "vixio.core"
        return version or any(within(imported, area) for area in rule.ours)
    # Code logs through the standard library; one package decides what formats and writes.
    return top in rule.others or (ANY in rule.others and top != "loguru")


def violations(base: Path) -> list[str]:
    """What breaks the rule in the package ``vixio`` below ``base``."""
    known = modules(base, "vixio")
    found: list[str] = []
    for name, path in known.items():
        rule = rule_of(name)
        if rule is None:
            found.append(f"{name} is in no area: say in RULES what it may import")
            continue
        found += [str(it) for it in imports(name, path, known) if not allowed(it.imported, rule)]
    return found


@pytest.mark.slow
def test_imports_run_one_way() -> None:
    assert violations(ROOT) == []


def test_every_rule_holds_for_something() -> None:
    names = modules(ROOT, "vixio")
    assert dead_rules(names) == []
    assert unknown_areas(names) == set()


def test_a_dead_rule_is_found() -> None:
    rules = (Rule("vixio.a"), Rule("vixio.a", ("vixio.gone",)), Rule("vixio.b"), Rule("vixio.a.b"))
    names = ["vixio.a", "vixio.a.b", "vixio.c"]
    assert dead_rules(names, rules) == ["vixio.a", "vixio.b", "vixio.a.b"]
    assert unknown_areas(names, rules) == {"vixio.gone"}


def test_every_area_is_there_to_be_read() -> None:
    areas = {rule.area for name in modules(ROOT, "vixio") if (rule := rule_of(name))}
    assert {"vixio.core", "vixio.stations", "vixio.settings", "vixio.transports.xiaozhi"} <= areas
    assert {"vixio.providers.silero_vad", "vixio.providers.openai_agent"} <= areas


def test_the_simulated_device_never_sees_the_server() -> None:
    base = ROOT / "firmware-test-client"
    known = modules(base, "firmware_test_client")
    assert known
    for name, path in known.items():
        for it in imports(name, path, known):
            assert not within(it.imported, "vixio"), str(it)


def plant(base: Path, path: str, source: str) -> None:
    file = base / "vixio" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "source", "imported"),
    [
        ("core/a.py", "import numpy", "numpy"),
        ("core/a.py", "from loguru import logger", "loguru"),
        ("providers/acme/p.py", "from loguru import logger", "loguru"),
        ("server.py", "def f():\n    import loguru", "loguru"),
        ("core/a.py", "from vixio import __version__", "vixio"),
        ("stations/vad.py", "from vixio import Server", "vixio.Server"),
        ("stations/vad.py", "import vixio", "vixio"),
        ("core/a.py", "def f():\n    from vixio.stations import vad", "vixio.stations.vad"),
        ("providers/vad.py", "import pydantic", "pydantic"),
        ("providers/vad.py", "from vixio.providers import registry", "vixio.providers.registry"),
        ("providers/registry.py", "import vixio.settings", "vixio.settings"),
        ("providers/acme/p.py", "from vixio.stations.vad import X", "vixio.stations.vad"),
        ("providers/acme/p.py", "from vixio.providers.espeak import x", "vixio.providers.espeak"),
        ("providers/acme/p.py", "from vixio.transports.xiaozhi import opus", "vixio.transports"),
        ("providers/acme/p.py", "from ..espeak import engine", "vixio.providers.espeak"),
        ("stations/vad.py", "import vixio.providers.espeak.engine", "vixio.providers.espeak"),
        ("stations/vad.py", "import vixio.providers.registry", "vixio.providers.registry"),
        ("stations/vad.py", "import numpy", "numpy"),
        ("transports/xiaozhi/t.py", "import vixio.providers.vad", "vixio.providers.vad"),
        ("transports/xiaozhi/t.py", "import vixio.stations.vad", "vixio.stations.vad"),
        ("transports/xiaozhi/t.py", "import vixio.transports.mqtt", "vixio.transports.mqtt"),
        ("language/phrasebook/p.py", "import vixio.providers.agent", "vixio.providers.agent"),
        ("settings/s.py", "import vixio.server", "vixio.server"),
        (
            "settings/s.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import vixio.cli.commands",
            "vixio.cli.commands",
        ),
        ("server.py", "import firmware_test_client", "firmware_test_client"),
    ],
)
def test_a_planted_violation_is_found(
    tmp_path: Path, path: str, source: str, imported: str
) -> None:
    for module in ("stations/vad.py", "providers/registry.py", "providers/espeak/engine.py"):
        plant(tmp_path, module, "")
    plant(tmp_path, path, source)
    (found,) = violations(tmp_path)
    assert imported in found


def test_a_module_in_no_area_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "misc.py", "")
    assert violations(tmp_path) == ["vixio.misc is in no area: say in RULES what it may import"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/a.py", "import asyncio\nfrom vixio.core.errors import VixioError"),
        ("providers/acme/p.py", "import acme\nfrom vixio.providers.acme import q"),
        (
            "providers/acme/p.py",
            "from vixio.language.phrasebook import book\nimport vixio.providers.tts",
        ),
        ("stations/vad.py", "from vixio.providers.vad import VADProvider"),
        ("transports/xiaozhi/t.py", "import websockets\nfrom vixio import __version__"),
        ("cli/demo/d.py", "import firmware_test_client\nimport vixio.server"),
    ],
)
def test_what_is_allowed_passes(tmp_path: Path, path: str, source: str) -> None:
    plant(tmp_path, path, source)
    assert violations(tmp_path) == []


def loaded(program: str) -> set[str]:
    """Return the modules that a fresh process has after ``program``."""
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.slow
def test_a_server_is_made_without_what_its_ports_do_not_need() -> None:
    """All of it is imported behind the open ports, in the thread that needs it."""
    program = """
from vixio.cli.commands import main
from vixio.telemetry.logging.setup import configure_logging
from vixio.settings import load_settings
from vixio.server import Server
Server(load_settings(None))"""
    heavy = {"agents", "httpx2", "jsonschema", "litellm", "mcp", "numpy", "onnxruntime", "openai"}
    heavy |= {
        "markdown_it",  # which a page of the help alone needs
        "opuslib",
        "pocketsphinx",
        "referencing",
        "soxr",
        "uvicorn",
        "vixio.language.phrasebook",
    }
    heavy |= {"yaml"}  # which is read for a settings file only
    heavy |= {"vixio.providers.downloads"}  # which the command line alone uses
    heavy |= {"nats", "vixio.bus", "vixio.cluster.nats", "vixio.cluster.workers"}  # of several
    heavy |= {"cryptography", "vixio.transports.xiaozhi.mqtt"}  # of the section `mqtt`
    heavy |= {"freetype", "noto_cjk_sans_otc"}
    assert not heavy & loaded(program)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["memory", "check --help", "--help"])
def test_a_command_that_says_little_imports_little(command: str, tmp_path: Path) -> None:
    program = f"""
import os
os.environ["XDG_STATE_HOME"] = {str(tmp_path)!r}
from vixio.cli.commands import main
main({command.split()!r}, standalone_mode=False)"""
    heavy = {"agents", "aiohttp", "httpx2", "jsonschema", "litellm", "mcp", "numpy", "onnxruntime"}
    heavy |= {"openai", "opuslib", "pocketsphinx", "redis", "soxr", "sqlalchemy", "starlette"}
    heavy |= {
        "uvicorn",
        "vixio.language.phrasebook",
        "vixio.server",
        "vixio.cli.diagnostics",
        "yaml",
    }
    assert not heavy & loaded(program)


@pytest.mark.slow
def test_a_server_without_a2a_imports_nothing_of_it() -> None:
    program = """
import asyncio
from vixio.settings import Settings
from vixio.server import Server

async def run():
    server = {"host": "127.0.0.1", "port": 0, "http_port": 0}
    app = Server(Settings.model_validate({"server": server, "memory": {"store": "none"}}))
    await app.start()
    await app.loaded()
    await app.stop()

asyncio.run(run())"""
    found = loaded(program)
    assert "uvicorn" in found
    assert not {name for name in found if name.partition(".")[0] in {"a2a", "sse_starlette"}}
    assert not {name for name in found if name.startswith("vixio.web.a2a")}


@pytest.mark.slow
def test_a_worker_of_espeak_imports_nearly_nothing() -> None:
    """Several run beside each server: what they import is their memory and their start."""
    heavy = {"asyncio", "loguru", "logging", "numpy", "onnxruntime", "pydantic", "yaml"}
    assert not heavy & loaded("import vixio.providers.espeak_process.worker")


@pytest.mark.slow
def test_a_worker_of_pocketsphinx_imports_little() -> None:
    """The recogniser's processes are what a server waits for longest at its start."""
    program = """
from vixio.language.phrasebook import PhraseBook
import vixio.providers.pocketsphinx.worker
PhraseBook.load("en").compile(()).grammar()"""
    heavy = {"asyncio", "hassil", "loguru", "logging", "numpy", "pydantic", "tempfile", "yaml"}
    assert not heavy & loaded(program)
