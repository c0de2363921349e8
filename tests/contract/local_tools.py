"""Tools for the contract of local sources."""

from __future__ import annotations


async def answer(question: str) -> str:
    """Answer a question."""
    return f"{question}: yes"


def add(first: int, second: int = 1) -> int:
    """Add two numbers."""
    return first + second
