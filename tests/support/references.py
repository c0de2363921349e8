"""What docstrings and comments point to, and whether it is there. Reads source, imports nothing."""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from tests.support.source_code import below, statements

ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod|obj):`~?([^`]+)`")
"""A cross-reference, as :class:`~vixio.core.chunk.Chunk`."""

DOTTED = re.compile(r"``(vixio(?:\.\w+)+)(?:\(\))?``")
"""A name of ours in full, set as code."""

DOCUMENT = re.compile(r"(?<![\w:/.])((?:[\w.-]+/)*[\w-]+\.md)\b")

UNKNOWN_DOCUMENT = re.compile(r"\b(?!RFC)([A-Z][A-Z_]{3,})(?:\.md)? ?§")
"""A paragraph of a document without a file name."""


PATTERNS = {"role": ROLE, "dotted": DOTTED, "document": DOCUMENT, "unknown": UNKNOWN_DOCUMENT}


@dataclass
class Scope:
    """A module or class: its names, and where to look on."""

    names: dict[str, Scope | None] = field(default_factory=dict)
    bases: list[str] = field(default_factory=list)
    module: str = ""
    imports: dict[str, str] = field(default_factory=dict)
    """Of a module: the name that an import of a name gives, and the whole name of the source."""


@dataclass(frozen=True)
class Reference:
    """A text that points to ``target``, in a class (``owner``) or in none."""

    path: Path
    line: int
    module: str
    owner: str
    kind: str
    """Of :data:`PATTERNS`, which one it fits."""
    target: str


class Sources:
    """The names of packages, as the source defines them, and what their prose points to."""

    def __init__(self, packages: dict[str, Path]) -> None:
        """``packages``: the directory of each, by name."""
        self.modules: dict[str, Scope] = {}
        self.references: list[Reference] = []
        for package, directory in packages.items():
            for path in sorted(directory.rglob("*.py")):
                parts = (package, *path.relative_to(directory).with_suffix("").parts)
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                self._read(name, path)

    def _read(self, name: str, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, str(path))
        scope = self.modules[name] = _scope(tree.body, name)
        for node in statements(tree.body):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    scope.imports.setdefault(
                        alias.asname or alias.name, f"{node.module}.{alias.name}"
                    )
        self.references += references(name, path, text, tree)

    def knows(self, target: str, module: str = "", owner: str = "") -> bool:
        """Return whether ``target`` is there, seen from a class (``owner``) in ``module``."""
        target = target.removesuffix("()")
        parts = target.split(".")
        here = self.modules.get(module)
        if here is not None:
            inner = here.names.get(owner) if owner else None
            if isinstance(inner, Scope) and self._follow(inner, parts):
                return True
            if self._follow(here, parts):
                return True
        for cut in range(len(parts), 0, -1):
            found = self.modules.get(".".join(parts[:cut]))
            if found is not None:
                return cut == len(parts) or self._follow(found, parts[cut:])
        if hasattr(builtins, parts[0]):
            return len(parts) == 1 or hasattr(getattr(builtins, parts[0]), parts[1])
        # Other packages: that they are installed has to do.
        return parts[0] not in self.modules and find_spec(parts[0]) is not None

    def _follow(self, scope: Scope, parts: list[str], depth: int = 8) -> bool:
        if not parts:
            return True
        name, rest = parts[0], parts[1:]
        if name in scope.names:
            inner = scope.names[name]
            # What is imported or assigned is there; what it holds is not looked into.
            return inner is None or self._follow(inner, rest)
        if depth:
            for base in scope.bases:
                found = self._class(base, scope.module)
                if found is not None and self._follow(found, parts, depth - 1):
                    return True
        return False

    def _class(self, name: str, module: str) -> Scope | None:
        """Return a class by the name that it has in ``module``."""
        here = self.modules.get(module)
        found = here.names.get(name) if here is not None else None
        if found is not None:
            return found
        origin, _, original = here.imports.get(name, "").rpartition(".") if here else ("", "", "")
        if origin in self.modules and origin != module:
            return self._class(original, origin)
        return None


def _scope(body: list[ast.stmt], module: str) -> Scope:
    scope = Scope(module=module)
    for node in _statements(body):
        if isinstance(node, ast.ClassDef):
            inner = _scope(node.body, module)
            inner.bases = [name for base in node.bases if (name := _base(base))]
            inner.names.update(dict.fromkeys(_own_attributes(node)))
            scope.names[node.name] = inner
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            scope.names[node.name] = None
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                scope.names[(alias.asname or alias.name).partition(".")[0]] = None
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for leaf in ast.walk(target):
                    if isinstance(leaf, ast.Name):
                        scope.names[leaf.id] = None
    return scope


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, those below ``if`` and ``try`` too."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from _statements([*node.body, *node.orelse])


def _base(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _own_attributes(node: ast.ClassDef) -> Iterator[str]:
    """Yield what the class sets on ``self``."""
    for statement in statements(node.body):
        for target in _targets(statement):
            for leaf in ast.walk(target):
                if (
                    isinstance(leaf, ast.Attribute)
                    and isinstance(leaf.ctx, ast.Store)
                    and isinstance(leaf.value, ast.Name)
                    and leaf.value.id == "self"
                ):
                    yield leaf.attr


def _targets(node: ast.stmt) -> list[ast.expr]:
    match node:
        case ast.Assign():
            return node.targets
        case ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.AsyncFor():
            return [node.target]
        case ast.With() | ast.AsyncWith():
            return [item.optional_vars for item in node.items if item.optional_vars]
    return []


def references(module: str, path: Path, text: str, tree: ast.Module) -> Iterator[Reference]:
    """Yield what the docstrings, other string statements and comments of a module point to."""
    for line, owner, words in _prose(text, tree):
        for kind, pattern in PATTERNS.items():
            for target in pattern.findall(words):
                yield Reference(path, line, module, owner, kind, target)


def _prose(text: str, tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield docstrings, other string statements and comments: line, owning class, text."""
    yield from _strings(tree.body, "")
    if _may_point(text):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], "", token.string


def _strings(body: Iterable[ast.stmt], owner: str) -> Iterator[tuple[int, str, str]]:
    for node in body:
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno, owner, value.value
        inner = node.name if isinstance(node, ast.ClassDef) else owner
        yield from _strings(below(node), inner)


def _may_point(text: str) -> bool:
    """Whether a comment may point to something: to find the comments takes long."""
    tails = (line[start:] for line in text.splitlines() if (start := line.find("#")) >= 0)
    return any(pattern.search(tail) for tail in tails for pattern in PATTERNS.values())
