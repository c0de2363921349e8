"""Fetches a model of the catalogue, with its size and licence shown first, and its progress."""

from __future__ import annotations

import os
import sys

from vixio.cli.model_lines import ProgressLines, described
from vixio.cli.status import StatusLine
from vixio.models.catalogue import find, load_catalogue
from vixio.models.get import get, plan
from vixio.models.hubs import Hubs
from vixio.models.store import ModelStore
from vixio.models.web import Web
from vixio.providers.model_path import models_folder


def is_there(name: str) -> bool:
    """Return whether the model is installed. Raises ModelError."""
    return ModelStore(models_folder()).get(name) is not None


async def fetch(name: str) -> None:
    """Install the model; what has arrived is kept if it is interrupted. Raises ModelError."""
    model = find(load_catalogue(), name)
    store = ModelStore(models_folder())
    hubs = Hubs.from_environment(os.environ)
    with StatusLine() as status:
        report = ProgressLines(status, live=sys.stderr.isatty())
        async with Web() as web:
            its = await plan(model, store, web, hubs, report=report)
            status.line(described(its, store, ""))
            await get(model, store, web, hubs, report=report)
