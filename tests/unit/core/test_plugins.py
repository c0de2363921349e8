"""Plug-ins by name: built in, of other distributions, and every mistake in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tests.support.entry_points import Installed, site_of
from vixio.core import plugins
from vixio.core.errors import ConfigError, PluginUnavailable
from vixio.core.extras import how_to_install
from vixio.core.plugins import Plugin, PluginGroup

GROUP = "vixio.test_plugins"


class Thing:
    inner: Thing


THING = Thing()
THING.inner = Thing()

THINGS = PluginGroup(
    GROUP,
    "thing",
    Thing,
    {
        "own": Plugin("acme_things:THING"),
        "nested": Plugin("acme_things:THING.inner"),
        "gone": Plugin("vixio.no_such_module:X", "edge"),
        "moved": Plugin("acme_things:MISSING"),
        "wrong": Plugin("acme_things:GROUP"),
    },
)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    monkeypatch.setitem(sys.modules, "acme_things", sys.modules[__name__])
    with site_of(tmp_path, GROUP, monkeypatch) as site:
        yield site


def test_a_built_in_one_is_loaded(installed: Installed) -> None:
    assert THINGS.load("own") is THING
    assert THINGS.load("nested") is THING.inner


def test_one_of_another_distribution_is_loaded(installed: Installed) -> None:
    installed.add("acme", acme="acme_things:THING")
    assert THINGS.load("acme") is THING
    assert THINGS.names() == ["acme", "gone", "moved", "nested", "own", "wrong"]


def test_nothing_takes_a_built_in_name(installed: Installed) -> None:
    installed.add("acme", own="acme_things:THING.inner")
    assert THINGS.load("own") is THING


def test_a_prefix_tells_the_kinds_of_a_group_apart(installed: Installed) -> None:
    installed.add("acme", left__one="acme_things:THING", right__two="acme_things:THING.inner")
    left = PluginGroup(GROUP, "thing", Thing, {}, prefix="left.")
    right = PluginGroup(GROUP, "thing", Thing, {}, prefix="right.")
    assert (left.names(), right.names()) == (["one"], ["two"])
    assert left.load("one") is THING
    assert right.load("two") is THING.inner


def test_an_entry_point_without_a_distribution_is_named_by_its_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = EntryPoint("acme", "acme_no_such:THING", GROUP)
    monkeypatch.setattr(plugins, "installed", lambda group: (point,))
    with pytest.raises(PluginUnavailable, match="pip install --upgrade acme_no_such"):
        THINGS.load("acme")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("onw", ConfigError, "there is no thing 'onw', did you mean 'own'? (known: acme, broken, "),
        ("zebra", ConfigError, "; packages can add others)"),
        ("gone", PluginUnavailable, f"to install what it needs: {how_to_install('edge')}"),
        ("moved", ConfigError, "thing moved: acme_things:MISSING does not exist"),
        ("wrong", ConfigError, "thing wrong: acme_things:GROUP is not a Thing"),
        ("broken", PluginUnavailable, "to install what it needs: pip install --upgrade broken"),
        ("twice", ConfigError, "one, two all bring a thing twice: uninstall all but one of them"),
    ],
)
def test_a_mistake_is_one_line(
    installed: Installed, name: str, error: type[ConfigError], message: str
) -> None:
    installed.add("acme", acme="acme_things:THING")
    installed.add("broken", broken="acme_no_such_module:X")
    installed.add("one", twice="acme_things:THING")
    installed.add("two", twice="acme_things:THING")
    with pytest.raises(error) as caught:
        THINGS.load(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
