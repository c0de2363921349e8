"""What a person reads who got something wrong, kept word for word in ``snapshots/``.

A message is right when a person who has never seen the code can tell from it alone

1. what is wrong, in words of the field, without a term of a library, a parser or Python: no
   regular expression, no class, no traceback;
2. where: the file, the line, and the key or the column; the program, the host and port, the option;
3. what to do next, as something that can be done then and there: a command that is installed, a
   value to write, a key to set. What it suggests is right for that mistake;

in one line, without a secret, with exit status 2 (1 for ``check --live``, as documented). The same
is true of what a mistake would otherwise hide: settings that would have no effect are refused.

After a change of a message: ``python -m tests.mistakes``, then read the diff by this rule. A new
mistake is an entry in the table of its group.
"""

from __future__ import annotations

from difflib import unified_diff

import pytest

from tests.mistakes.groups import GROUPS
from tests.mistakes.kit import Mistake, make, shown
from tests.mistakes.snapshots import kept

EVERY = [(group, each) for group, mistakes in GROUPS.items() for each in mistakes]


@pytest.mark.parametrize(("group", "mistake"), EVERY, ids=[f"{g}-{m.name}" for g, m in EVERY])
def test_a_mistake_is_explained_as_read_by_a_person(group: str, mistake: Mistake) -> None:
    outcome = make(mistake)
    assert outcome.defect is None
    assert "Traceback" not in outcome.printed
    assert outcome.status == mistake.status
    now = shown(mistake, outcome)
    before = kept(group).get(mistake.name, "")
    diff = unified_diff(before.splitlines(), now.splitlines(), "kept", "now", lineterm="")
    assert before == now, "read it, then run python -m tests.mistakes:\n" + "\n".join(diff)


@pytest.mark.parametrize("group", GROUPS)
def test_every_mistake_that_is_kept_is_still_made(group: str) -> None:
    names = [each.name for each in GROUPS[group]]
    assert len(set(names)) == len(names)
    assert list(kept(group)) == names


def test_there_are_enough_of_them() -> None:
    assert len(EVERY) >= 60
