"""The factory of the source type ``broker``."""

from __future__ import annotations

from vixio.tools.broker.settings import BrokerSettings
from vixio.tools.broker.source import BrokerSource
from vixio.tools.registry import SourceContext, ToolSourceFactory


def _create(settings: BrokerSettings, context: SourceContext) -> BrokerSource:
    return BrokerSource(context.name, settings, settings.address, context)


FACTORY = ToolSourceFactory(settings_model=BrokerSettings, create=_create)
