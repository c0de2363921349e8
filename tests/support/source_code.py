"""What tests that look at Python source have in common.

They parse many files. What they keep is names and lines, not the trees: those of all files are
some five million objects, which every later garbage collection would go through.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def below(node: ast.stmt | ast.excepthandler | ast.match_case) -> Iterator[ast.stmt]:
    """Yield the statements that a statement consists of."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, field, ()):
            if isinstance(child, ast.stmt):
                yield child
            else:
                yield from below(child)


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield all statements of a body, at every depth, and none of their expressions."""
    for node in body:
        yield node
        yield from statements(below(node))
