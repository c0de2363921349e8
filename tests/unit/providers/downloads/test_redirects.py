"""Where a download may be sent to, and what is told there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.certificates import self_made
from tests.support.hub import HubServer, cut, hub_server, status
from tests.unit.providers.downloads.conftest import BIG
from tests.unit.providers.downloads.downloads import fetched
from vixio.providers.downloads.errors import Trouble
from vixio.providers.downloads.hubs import Remote
from vixio.providers.downloads.web import Access, Patience, Web


async def test_a_redirect_to_another_host_gets_no_token(
    web: Web, hub: HubServer, cdn: HubServer, target: Path
) -> None:
    cdn.put("/blob", BIG, etag='"blob"')
    hub.redirect("/file", "/moved")
    hub.redirect("/moved", f"{cdn.base}/blob")
    cdn.fail("/blob", cut(100))
    await fetched(web, Remote(f"{hub.base}/file", access=Access("secret")), target)
    sent = [request.headers.get("authorization") for request in hub.requests]
    assert sent == ["Bearer secret"] * 4
    assert [request.headers.get("authorization") for request in cdn.requests] == [None, None]
    assert cdn.requests[1].headers["range"] == "bytes=100-"


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("ftp://127.0.0.1/file", "no http address"),
        ("file:///etc/passwd", "no http address"),
        ("http://[::1/x", "no http address"),
        ("/file", "redirects more than"),
    ],
)
async def test_redirects_that_are_not_followed(
    web: Web, hub: HubServer, target: Path, location: str, told: str
) -> None:
    hub.redirect("/file", location)
    with pytest.raises(Trouble, match=told):
        await fetched(web, Remote(f"{hub.base}/file"), target)


async def test_from_https_to_http_is_not_followed(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls, certificate = self_made(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    hub.put("/file", BIG)
    target = tmp_path / "there" / "model.onnx"
    target.parent.mkdir()
    async with hub_server(tls) as safe, Web(Patience(tries=1)) as web:
        safe.put("/file", BIG)
        await fetched(web, Remote(f"{safe.base}/file"), target)
        safe.redirect("/file", f"{hub.base}/file")
        with pytest.raises(Trouble, match="to unprotected http"):
            await fetched(web, Remote(f"{safe.base}/file"), target)
    assert hub.requests == []


async def test_a_refusal_says_what_to_do(web: Web, hub: HubServer, target: Path) -> None:
    hub.fail("/file", status(403))
    access = Access("secret", "accept the conditions")
    with pytest.raises(Trouble, match="accept the conditions") as refused:
        await fetched(web, Remote(f"{hub.base}/file", access=access), target)
    assert "secret" not in str(refused.value)
    assert "secret" not in repr(access)
