"""The factory of the source type ``broker``."""

from __future__ import annotations

from vixio.bus.address import BrokerAddress, TlsFiles, parse_address
from vixio.tools.broker.settings import BrokerSettings
from vixio.tools.broker.source import BrokerSource
from vixio.tools.registry import SourceContext, ToolSourceFactory


def address_of(settings: BrokerSettings) -> BrokerAddress:
    """Return the broker of the settings. Raises ConfigError that shows no secret."""
    tls = settings.tls
    return parse_address(
        settings.url.get_secret_value(),
        user=settings.user,
        password=settings.password.get_secret_value(),
        token=settings.token.get_secret_value(),
        credentials=settings.credentials,
        tls=TlsFiles(tls.ca, tls.cert, tls.key),
    )


def _create(settings: BrokerSettings, context: SourceContext) -> BrokerSource:
    return BrokerSource(context.name, settings, address_of(settings), context)


FACTORY = ToolSourceFactory(settings_model=BrokerSettings, create=_create)
