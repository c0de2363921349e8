"""Makes the counts of daily turns of a server."""

from __future__ import annotations

from collections.abc import Callable
from zoneinfo import ZoneInfo

from vixio.core.cluster import Cluster
from vixio.core.daily_turns import DailyTurns
from vixio.core.metrics import Counters
from vixio.database.database import Database
from vixio.database.link import Link
from vixio.devices.turn_counts import StoredTurns
from vixio.settings import Settings


def make_daily_turns(
    settings: Callable[[], Settings], link: Link[Database], cluster: Cluster, counters: Counters
) -> DailyTurns:
    """Return the counts of all processes, kept in the registry.

    ``settings`` returns those in effect: a reload can change the time zone.
    """

    def zone() -> ZoneInfo | None:
        name = settings().assistant.time_zone
        return ZoneInfo(name) if name else None

    return DailyTurns(cluster.limits, StoredTurns(link, counters), zone)
