"""The list of pages has every page that the console has; no browser is needed."""

from __future__ import annotations

import re

from tests.console.places import PLACES
from vixio.web.console.assets import read_assets


def test_every_page_is_listed() -> None:
    routes = read_assets().files["routes.js"].content.decode()
    named = set(re.findall(r'\{ name: "(\w+)"', routes))
    assert named
    assert {place.route for place in PLACES} == named
    assert len({place.name for place in PLACES}) == len(PLACES)
