"""What must not happen in a page: errors, violations of its policy, failed and foreign requests."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, ConsoleMessage, Page, Request, Response

HOSTS: Final = frozenset({"127.0.0.1", "vixio.lan"})
"""By these the server of a test is called; a request to any other fails the test."""

ABORTED: Final = "net::ERR_ABORTED"
"""A page that is left ends its own requests."""

JUDGED_ELSEWHERE: Final = (
    "Failed to load resource:",  # requests have events of their own
    # Of every page over plain HTTP that is called by a name, which has no such protection.
    "The Cross-Origin-Opener-Policy header has been ignored",
)
"""How messages begin that are no fault of a page."""

VIOLATIONS: Final = """
addEventListener("securitypolicyviolation", (event) => {
  __vixioViolation(`${event.effectiveDirective}: ${event.blockedURI} ${event.sourceFile}`);
});
"""


@dataclass
class Watch:
    """Notes what is wrong in all pages of a context. ``check`` raises if there was anything."""

    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """The URLs of all requests of pages, in order."""
    under_way: set[Request] = field(default_factory=set)
    """Requests that have no whole answer yet. The stream of events is the shared worker's."""
    _expected: list[tuple[int, re.Pattern[str]]] = field(default_factory=list)
    _unreachable: bool = False

    def expect(self, status: int, url: str) -> None:
        """Allow answers with ``status`` from URLs in which the pattern ``url`` is found."""
        self._expected.append((status, re.compile(url)))

    def expect_unreachable(self, expected: bool = True) -> None:
        """Allow requests without an answer: the server is stopped now. False: no longer."""
        self._unreachable = expected

    def check(self) -> None:
        """Raise AssertionError if anything was wrong."""
        assert not self.problems, "\n".join(["the page:", *self.problems])

    async def attach(self, context: BrowserContext) -> None:
        """Watch a context, before its first page."""
        await context.expose_binding("__vixioViolation", self._violated)
        await context.add_init_script(VIOLATIONS)
        context.on("page", self._page)
        context.on("request", self._requested)
        context.on("requestfinished", self._finished)
        context.on("requestfailed", self._failed)
        context.on("response", self._answered)
        context.on("console", self._said)
        context.on("weberror", lambda error: self.problems.append(f"error: {error.error}"))

    def _page(self, page: Page) -> None:
        page.on("websocket", lambda socket: self._foreign(socket.url))
        page.on("crash", lambda _: self.problems.append("the page crashed"))

    def _violated(self, _source: object, what: str) -> None:
        self.problems.append(f"content security policy: {what}")

    def _requested(self, request: Request) -> None:
        self.requests.append(request.url)
        self.under_way.add(request)
        self._foreign(request.url)

    def _foreign(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"data", "blob"} and parts.hostname not in HOSTS:
            self.problems.append(f"foreign: {url}")

    def _finished(self, request: Request) -> None:
        self.under_way.discard(request)

    def _failed(self, request: Request) -> None:
        self.under_way.discard(request)
        if request.failure != ABORTED and not self._unreachable:
            self.problems.append(f"failed: {request.method} {request.url}: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and not self._allows(response.status, response.url):
            asked = response.request.method
            self.problems.append(f"{response.status}: {asked} {response.url}")

    def _said(self, message: ConsoleMessage) -> None:
        if message.type not in {"error", "assert"}:
            return
        if message.text.startswith(JUDGED_ELSEWHERE):
            return
        place = message.location
        self.problems.append(f"console: {message.text} ({place['url']}:{place['lineNumber']})")

    def _allows(self, status: int, url: str) -> bool:
        return any(status == each and pattern.search(url) for each, pattern in self._expected)
