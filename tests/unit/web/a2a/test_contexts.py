"""Contexts that are dropped, and questions whose task is gone."""

from __future__ import annotations

import pytest

from vixio.core.metrics import Counters
from vixio.core.session.conversation import Conversation
from vixio.web.a2a.callers import Scope
from vixio.web.a2a.contexts import Contexts

ALICE = Scope("alice")
LAMP = Scope("alice", "02:00:00:00:00:01")


class Fake(Conversation):
    """A conversation that notes what is done to it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def close(self, reason: str = "") -> None:
        self.done.append("closed")

    def withdraw(self) -> None:
        self.done.append("withdrawn")


class Kept:
    """Contexts, their conversation, and the histories that were dropped."""

    def __init__(self) -> None:
        self.conversation = Fake()
        self.forgotten: list[str] = []
        self.contexts = Contexts(
            self._open,
            self._forget,
            lambda scope, task_id: None,
            Counters(),
            lifetime=60,
            max_contexts=10,
            max_running=10,
            result_timeout=60,
        )

    async def _open(self, key: str) -> Conversation:
        return self.conversation

    async def _forget(self, key: str) -> None:
        self.forgotten.append(key)


@pytest.mark.parametrize(("scope", "forgotten"), [(ALICE, ["a2a/alice/mine"]), (LAMP, [])])
async def test_the_history_goes_with_the_assistants_context_alone(
    scope: Scope, forgotten: list[str]
) -> None:
    """A client may use one context id with the assistant and with a device."""
    kept = Kept()
    context = kept.contexts.get(scope, "mine")
    if not scope.device:
        await kept.contexts.conversation(context)
    kept.contexts.lost(context)
    await kept.contexts.close()
    assert kept.forgotten == forgotten


async def test_a_question_goes_with_its_task() -> None:
    kept = Kept()
    context = kept.contexts.get(ALICE, "mine")
    await kept.contexts.conversation(context)
    for task_id in ("one", "two"):
        kept.contexts.own(context, task_id)
    context.asking = "two"
    kept.contexts.disown(ALICE, "one")
    assert (context.waiting_task, kept.conversation.done) == ("two", [])
    kept.contexts.disown(ALICE, "two")
    assert (context.waiting_task, kept.conversation.done) == ("", ["withdrawn"])
