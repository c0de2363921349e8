"""Open-Meteo, feeds, calendars, SearXNG and Tavily on one port."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from aiohttp import web

from vixio_bench.vendors.base import Trouble, VendorService, cut

KEY: Final = "tvly-of-the-stand-in"

FORBIDDEN: Final = "forbidden"
"""The trouble of a service that does not give JSON, or of a wrong key: 403."""

ODD: Final = "odd"
"""JSON of another form."""

HUGE: Final = "huge"
"""Two megabytes."""


@dataclass(frozen=True)
class Town:
    """One that the geocoder knows. ``names``: by language."""

    id: int
    name: str
    region: str
    country: str
    code: str
    latitude: float
    longitude: float
    names: tuple[tuple[str, str], ...] = ()

    def called(self, language: str) -> str:
        """Return its name in a language."""
        return dict(self.names).get(language, self.name)


TOWNS: Final = (
    Town(2950159, "Berlin", "Land Berlin", "Germany", "DE", 52.52437, 13.41053),
    Town(1816670, "Beijing", "Beijing", "China", "CN", 39.9075, 116.39723, (("zh", "北京"),)),
    Town(2988507, "Paris", "Île-de-France", "France", "FR", 48.85341, 2.3488),
    Town(4717560, "Paris", "Texas", "United States", "US", 33.66094, -95.55551),
)

RSS: Final = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>The Stand-in Times</title>
<link>http://127.0.0.1/</link><description>News of nobody.</description>
<item><title>Bridge opens after three years</title><link>http://127.0.0.1/1</link></item>
<item><title>Rain &amp; wind &lt;b&gt;tonight&lt;/b&gt;</title></item>
<item><title>Museum finds lost painting</title></item>
</channel></rss>
"""

ATOM: Final = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>替身新闻</title><id>urn:x:1</id>
<updated>2026-01-01T00:00:00Z</updated>
<entry><title>大桥三年后通车</title><id>urn:x:2</id><updated>2026-01-01T00:00:00Z</updated></entry>
<entry><title type="html">今晚&lt;b&gt;有雨&lt;/b&gt;</title><id>urn:x:3</id>
<updated>2026-01-01T00:00:00Z</updated></entry>
</feed>
"""


class ReadyService(VendorService):
    """All on one port. ``requests`` counts them by what they ask for, such as ``forecast``."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given, **options)
        self.requests: Counter[str] = Counter()
        self.asked: list[dict[str, str]] = []
        """The queries, in order."""
        self.feeds: dict[str, tuple[bytes, str]] = {
            "rss": (RSS.encode(), "application/rss+xml"),
            "atom": (ATOM.encode(), "application/atom+xml; charset=utf-8"),
        }
        """Body and content type by name."""
        self.calendars: dict[str, bytes] = {}
        self.found: list[dict[str, str]] = []
        """Of a search: ``title``, ``content``, ``url``."""
        self.answer = ""
        self.temperature = 12.3
        self.code = 61
        """Of the sky."""

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get("/v1/search", self._geocode),
            web.get("/v1/forecast", self._forecast),
            web.get("/feeds/{name}", self._feed),
            web.get("/calendars/{name}", self._calendar),
            web.get("/search", self._searxng),
            web.post("/search", self._tavily),
        ]

    def settings(self) -> dict[str, Any]:
        """Return the section ``tools.ready`` with all that is asked here."""
        return {
            "weather": {"forecast_url": self.http, "geocoding_url": self.http},
            "news": {
                "feeds": {"en": [f"{self.http}/feeds/rss"], "zh": [f"{self.http}/feeds/atom"]}
            },
            "search": {"service": "searxng", "base_url": self.http},
        }

    async def _trouble(self, request: web.Request, what: str) -> web.StreamResponse | None:
        self.requests[what] += 1
        self.asked.append(dict(request.query))
        match self.trouble():
            case Trouble.STALL:
                await asyncio.Event().wait()
            case Trouble.CUT:
                cut(request)
            case Trouble.GARBAGE:
                return web.Response(body=b"\x00<not json", content_type="application/json")
            case Trouble.BUSY:
                reason = "Minutely API request limit exceeded. Please try again in one minute."
                return web.json_response({"error": True, "reason": reason}, status=429)
            case Trouble.ERROR:
                reason = "Parameter 'current' is not valid."
                return web.json_response({"error": True, "reason": reason}, status=400)
            case "forbidden":
                return web.Response(text="403 Forbidden", status=403)
            case "odd":
                return web.json_response({"results": 7, "current": [], "daily": None})
            case "huge":
                return web.Response(body=b" " * 2 * 2**20, content_type="text/plain")
        return None

    async def _geocode(self, request: web.Request) -> web.StreamResponse:
        if response := await self._trouble(request, "geocode"):
            return response
        query = request.query
        name, language = query["name"].casefold(), query["language"]
        towns = [
            {
                "id": town.id,
                "name": town.called(language),
                "latitude": town.latitude,
                "longitude": town.longitude,
                "country_code": town.code,
                "country": town.country,
                "admin1": town.region,
                "timezone": "UTC",
            }
            for town in TOWNS
            if len(name) > 1 and name in {town.name.casefold(), town.called(language)}
        ]
        answer: dict[str, Any] = {"generationtime_ms": 0.5}
        if towns:
            answer["results"] = towns[: int(query["count"])]
        return web.json_response(answer)

    async def _forecast(self, request: web.Request) -> web.StreamResponse:
        if response := await self._trouble(request, "forecast"):
            return response
        query = request.query
        latitude, longitude = float(query["latitude"]), float(query["longitude"])
        now, days = datetime.now(UTC), int(query["forecast_days"])
        dates = [f"{now + timedelta(day):%Y-%m-%d}" for day in range(days)]
        daily: dict[str, list[Any]] = {
            "time": dates,
            "weather_code": [self.code, 3, 0, 71, 95, 45, 2][:days],
            "temperature_2m_max": [14.6, 15.2, 20.0, 1.0, 25.0, 9.0, 11.0][:days],
            "temperature_2m_min": [8.4, 7.0, 10.0, -3.0, 17.0, 4.0, 5.0][:days],
            "precipitation_probability_max": [80, 5, 0, 60, None, 10, 0][:days],
            "sunrise": [f"{each}T07:00" for each in dates],
            "sunset": [f"{each}T17:00" for each in dates],
        }
        current = {
            "temperature_2m": self.temperature,
            "apparent_temperature": 10.1,
            "weather_code": self.code,
            "wind_speed_10m": 18.4,
        }
        return web.json_response(
            {
                "latitude": latitude,
                "longitude": longitude,
                "generationtime_ms": 0.1,
                "utc_offset_seconds": 0,
                "timezone": "UTC",
                "elevation": 38.0,
                "current_units": {"time": "iso8601", "temperature_2m": "°C"},
                "current": {
                    "time": f"{now:%Y-%m-%dT%H:%M}",
                    "interval": 900,
                    **{key: current[key] for key in query["current"].split(",")},
                },
                "daily_units": {"time": "iso8601", "temperature_2m_max": "°C"},
                "daily": {"time": dates, **{key: daily[key] for key in query["daily"].split(",")}},
            }
        )

    async def _feed(self, request: web.Request) -> web.StreamResponse:
        if response := await self._trouble(request, "feed"):
            return response
        body, kind = self.feeds[request.match_info["name"]]
        return web.Response(body=body, headers={"Content-Type": kind} if kind else {})

    async def _calendar(self, request: web.Request) -> web.StreamResponse:
        if response := await self._trouble(request, "calendar"):
            return response
        body = self.calendars[request.match_info["name"]]
        return web.Response(body=body, content_type="text/calendar")

    async def _searxng(self, request: web.Request) -> web.StreamResponse:
        if response := await self._trouble(request, "search"):
            return response
        if request.query.get("format") != "json":
            self.violated("a format other than json")
        results = [{**each, "engine": "stand-in", "score": 1.0} for each in self.found]
        answers = [{"answer": self.answer, "url": "http://127.0.0.1/"}] if self.answer else []
        return web.json_response(
            {"query": request.query["q"], "results": results, "answers": answers}
        )

    async def _tavily(self, request: web.Request) -> web.StreamResponse:
        if response := await self._trouble(request, "search"):
            return response
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            words = {"error": "Unauthorized: missing or invalid API key."}
            return web.json_response({"detail": words}, status=401)
        asked = await request.json()
        results = [{**each, "score": 0.9} for each in self.found[: asked["max_results"]]]
        answer = self.answer or None if asked.get("include_answer") else None
        return web.json_response({"query": asked["query"], "answer": answer, "results": results})


def calendar(*events: str, more: str = "") -> bytes:
    """Return a calendar of VEVENTs, each given as its lines without UID. ``more``: other parts."""
    parts = [
        f"BEGIN:VEVENT\nUID:event-{number}@stand-in\nDTSTAMP:20260101T000000Z\n{each}\nEND:VEVENT\n"
        if "UID:" not in each
        else f"BEGIN:VEVENT\nDTSTAMP:20260101T000000Z\n{each}\nEND:VEVENT\n"
        for number, each in enumerate(events)
    ]
    head = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Vixio//stand-in//EN\n"
    text = f"{head}{more}{''.join(parts)}END:VCALENDAR\n"
    return text.replace("\n", "\r\n").encode()
