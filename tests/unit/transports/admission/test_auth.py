from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ConfigError
from vixio.transports.admission.auth import TokenAuthenticator, TokenCheck

SECRET = "a secret of enough bytes"


class Clock:
    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


def test_a_token_opens_for_its_device_and_client_only() -> None:
    auth = TokenAuthenticator(SECRET)
    token = auth.issue("aa:bb", "client")
    assert auth.verify(token, "aa:bb", "client") is TokenCheck.VALID
    assert auth.verify(token, "aa:bc", "client") is TokenCheck.WRONG
    assert auth.verify(token, "aa:bb", "other") is TokenCheck.WRONG
    assert auth.verify("", "aa:bb", "client") is TokenCheck.MISSING


def test_the_boundary_between_the_identities_is_signed_too() -> None:
    auth = TokenAuthenticator(SECRET)
    assert auth.verify(auth.issue("ab", "c"), "a", "bc") is TokenCheck.WRONG
    assert auth.verify(auth.issue("a|1|b", ""), "a", "1|b") is TokenCheck.WRONG


def test_a_token_expires_and_its_expiry_cannot_be_moved() -> None:
    clock = Clock()
    auth = TokenAuthenticator(SECRET, 60, clock=clock)
    token = auth.issue("aa:bb", "client")
    clock.time += 59.9
    assert auth.verify(token, "aa:bb", "client") is TokenCheck.VALID
    clock.time += 0.2
    assert auth.verify(token, "aa:bb", "client") is TokenCheck.EXPIRED
    expiry, _, signature = token.partition(".")
    later = f"{int(expiry) + 1000}.{signature}"
    assert auth.verify(later, "aa:bb", "client") is TokenCheck.WRONG


def test_another_secret_signs_another_token() -> None:
    token = TokenAuthenticator(SECRET).issue("aa:bb", "client")
    other = TokenAuthenticator(SECRET + "!")
    assert other.verify(token, "aa:bb", "client") is TokenCheck.WRONG


def test_the_firmware_can_put_bearer_before_a_token() -> None:
    assert " " not in TokenAuthenticator(SECRET).issue("a b", "c d")


@given(st.text())
def test_no_text_breaks_the_check(token: str) -> None:
    verdict = TokenAuthenticator(SECRET).verify(token, "aa:bb", "client")
    assert verdict is (TokenCheck.WRONG if token else TokenCheck.MISSING)


@given(st.text(), st.text())
def test_any_identity_can_have_a_token(device_id: str, client_id: str) -> None:
    auth = TokenAuthenticator(SECRET)
    assert auth.verify(auth.issue(device_id, client_id), device_id, client_id) is TokenCheck.VALID


@pytest.mark.parametrize(("secret", "lifetime"), [("short", 60.0), (SECRET, 0.0), (SECRET, -1.0)])
def test_a_weak_secret_or_a_lifetime_of_nothing_is_refused(secret: str, lifetime: float) -> None:
    with pytest.raises(ConfigError):
        TokenAuthenticator(secret, lifetime)
