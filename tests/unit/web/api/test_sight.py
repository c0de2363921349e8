"""What of the stream of events a token lets be seen."""

from __future__ import annotations

from typing import Any

import pytest

from vixio.web.api.access import Principal, PrincipalKind
from vixio.web.api.event_visibility import seen, sees, sees_anything
from vixio.web.api.scopes import Scope
from vixio.web.feed.content import CHANGED
from vixio.web.feed.entry import Entry

KITCHEN = "02:00:00:00:00:01"


def holder(*scopes: Scope) -> Principal:
    return Principal(kind=PrincipalKind.PERSONAL, name="x", scopes=frozenset(scopes), token_id="t")


def transcript() -> Entry:
    fields, words = {"turn": 1}, {"text": "open the safe"}
    return Entry("a", 1, 5, "transcript", "device", KITCHEN, fields, words)


def change(about: str) -> Entry:
    fields = {"about": about, "key": "k", "action": "set", "actor": "cli:ann", "detail": {"x": 1}}
    return Entry("changes", 1, 5, CHANGED, about, "", fields, {})


def shown(entry: Entry, who: Principal) -> dict[str, Any] | None:
    visible = sees(entry, who)
    return None if visible is None else seen(entry, visible)


def test_words_are_for_readers_of_conversations() -> None:
    event = {"type": "transcript", "at": 5, "device_id": KITCHEN, "turn": 1}
    assert shown(transcript(), holder(Scope.DEVICES_READ)) == event
    both = holder(Scope.DEVICES_READ, Scope.CONVERSATIONS_READ)
    assert shown(transcript(), both) == {**event, "text": "open the safe"}
    assert shown(transcript(), holder(Scope.CONVERSATIONS_READ)) is None


@pytest.mark.parametrize(
    ("about", "scope"),
    [
        ("device", Scope.DEVICES_READ),
        ("token", Scope.DEVICES_WRITE),
        ("profile", Scope.PROFILES),
        ("person", Scope.DEVICES_READ),
        ("reminder", Scope.REMINDERS),
        ("firmware", Scope.FIRMWARE),
    ],
)
def test_changes_are_for_those_who_may_see_the_thing(about: str, scope: Scope) -> None:
    event = {"type": CHANGED, "at": 5, "about": about, "key": "k", "action": "set"}
    assert shown(change(about), holder(scope)) == event
    others = set(Scope) - {scope, Scope.ADMIN}
    assert shown(change(about), holder(*others)) is None
    whole = {**event, "actor": "cli:ann", "detail": {"x": 1}}
    assert shown(change(about), holder(Scope.ADMIN)) == whole


@pytest.mark.parametrize("about", ["api-token", "api-user", "secret", ""])
def test_anything_else_is_for_the_administrator(about: str) -> None:
    assert shown(change(about), holder(*(set(Scope) - {Scope.ADMIN}))) is None
    assert shown(change(about), holder(Scope.ADMIN)) is not None


def test_who_sees_nothing_at_all() -> None:
    assert not sees_anything(holder())
    assert not sees_anything(holder(Scope.CONTROL, Scope.CONVERSATIONS_WRITE))
    assert sees_anything(holder(Scope.FIRMWARE))
    assert sees_anything(holder(Scope.ADMIN))
