"""The size and the shape of the house: `python scripts/house.py [--check] [--list]`.

``--check``: exit with 1 if a figure is above its ceiling, which is what it was when it was last
written down here. ``--list``: name the modules and the interfaces that are counted.

The pages of docs/zh are not counted: they are pages of docs/ for other readers, and
scripts/chinese_pages.py keeps them in step.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "vixio"

SMALL = 60
"""Lines up to which a module that one other imports belongs to that one."""

MARKS = {
    "folders and modules at the top": 17,
    "lines of Python": 90_000,
    f"modules with one importer and at most {SMALL} lines": 15,
    "interfaces with at most one implementation": 10,
    "pages of documentation": 18,
}
"""What is aimed at."""

CEILINGS = dict(zip(MARKS, (17, 134_900, 14, 9, 18), strict=True))
"""What was reached. A figure that falls takes its ceiling with it."""

NAMED = {
    *("DeviceToolClientBase", "ProtocolBase", "ToolConverterBase", "TransportBase"),
    *("DynamicToolService", "AgentBench"),
}
"""Interfaces that others build on, beside those that docs/api.md names."""


@dataclass
class Module:
    """A module of the package. ``name``: dotted. ``imports``: dotted names, without those in it."""

    name: str
    path: Path
    tree: ast.Module
    lines: int
    imports: set[str] = field(default_factory=set)


@cache
def modules() -> Mapping[str, Module]:
    """Read all modules, by name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text("utf-8")
        found[name] = Module(name, path, ast.parse(text), len(text.splitlines()))
    for module in found.values():
        module.imports = {each for each in _imported(module, found) if each != module.name}
    return found


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in a node, without expressions, which are most of a tree."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(node, name, []):
            yield each
            yield from _statements(each)


def _imported(module: Module, known: Mapping[str, Module]) -> Iterator[str]:
    """Yield the modules that a module imports, at its top or in a function."""
    for node in _statements(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from [alias.name] if alias.name in known else []
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def top() -> list[str]:
    """Return the folders and modules right below the package."""
    return sorted(
        path.name
        for path in PACKAGE.iterdir()
        if (path.is_dir() and list(path.rglob("*.py")))
        or (path.suffix == ".py" and path.stem not in {"__init__", "__main__"})
    )


def dispersed() -> list[str]:
    """Return the small modules that exactly one other imports."""
    importers: dict[str, set[str]] = defaultdict(set)
    for module in modules().values():
        for each in module.imports:
            importers[each].add(module.name)
    return [
        f"{module.lines:>4}  {name}  <-  {next(iter(importers[name]))}"
        for name, module in modules().items()
        if module.path.name != "__init__.py" and module.lines <= SMALL and len(importers[name]) == 1
    ]


@dataclass
class Class:
    """A class. ``bases``: their names. ``offers``: its public methods and attributes."""

    place: str
    name: str
    bases: set[str]
    offers: set[str]
    abstract: bool

    @property
    def interface(self) -> bool:
        """Whether others are to implement it."""
        return "Protocol" in self.bases or self.abstract


def _classes() -> Iterator[Class]:
    for module in modules().values():
        for node in _statements(module.tree):
            if isinstance(node, ast.ClassDef):
                yield Class(
                    f"{module.name}.{node.name}",
                    node.name,
                    {_base(each) for each in node.bases},
                    set(_offers(node)),
                    any(_is_abstract(each) for each in node.body),
                )


def _base(node: ast.expr) -> str:
    """Return the last name of a base class, without its parameters.

    Those of asyncio, among them its ``Protocol``, are no interfaces of ours.
    """
    if isinstance(node, ast.Subscript):
        return _base(node.value)
    if isinstance(node, ast.Attribute):
        return "" if getattr(node.value, "id", "") == "asyncio" else node.attr
    return getattr(node, "id", "")


def _offers(node: ast.ClassDef) -> Iterator[str]:
    for each in _statements(node):
        name = ""
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            name = each.name
        elif isinstance(each, ast.AnnAssign):
            name = getattr(each.target, "id", getattr(each.target, "attr", ""))
        elif isinstance(each, ast.Assign):
            name = getattr(each.targets[0], "id", getattr(each.targets[0], "attr", ""))
        if name and (not name.startswith("_") or name == "__call__"):
            yield name


def _is_abstract(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
        _base(each) == "abstractmethod" for each in node.decorator_list
    )


def single() -> list[str]:
    """Return the interfaces that at most one class implements and that docs/api.md does not name.

    A base class is implemented by its subclasses, a protocol also by what has all that it asks for.
    """
    public = (ROOT / "docs" / "api.md").read_text("utf-8")
    classes = list(_classes())
    found = []
    for interface in (each for each in classes if each.interface):
        if f"`{interface.name}`" in public or interface.name in NAMED:
            continue
        structural = "Protocol" in interface.bases
        implementing = [
            each
            for each in classes
            if each is not interface
            and "Protocol" not in each.bases
            and (
                interface.name in each.bases
                or (structural and bool(interface.offers) and interface.offers <= each.offers)
            )
        ]
        if len(implementing) <= 1 and not (structural and interface.offers == {"__call__"}):
            found.append(f"{interface.place}  <-  {', '.join(each.place for each in implementing)}")
    return found


def figures() -> Mapping[str, int]:
    """Return the figure of each mark."""
    docs = ROOT / "docs"
    return dict(
        zip(
            MARKS,
            (
                len(top()),
                sum(each.lines for each in modules().values()),
                len(dispersed()),
                len(single()),
                len([each for each in docs.rglob("*.md") if docs / "zh" not in each.parents]),
            ),
            strict=True,
        )
    )


def main() -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail above a ceiling")
    parser.add_argument("--list", action="store_true", help="name what is counted")
    options = parser.parse_args()
    if options.list:
        for line in (*dispersed(), "", *single(), ""):
            print(line)
    found = figures()
    above = [name for name in MARKS if found[name] > CEILINGS[name]]
    for name in above:
        print(
            f"{name}: {found[name]:,}, above {CEILINGS[name]:,}: take away as you add, or raise "
            "CEILINGS in scripts/house.py where what is added is worth it"
        )
    print("; ".join(f"{found[name]:,} {name} (mark {mark:,})" for name, mark in MARKS.items()))
    return 1 if above and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
