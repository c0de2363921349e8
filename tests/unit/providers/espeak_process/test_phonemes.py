"""Pronunciation for threads and other processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing

import pytest

from vixio.core.errors import REQUEST, ProviderError
from vixio.providers.espeak_process.messages import Voice
from vixio.providers.espeak_process.phonemes import PhonemeClient

ENGLISH = [Voice("en-us")]


@pytest.fixture
def client() -> Iterator[PhonemeClient]:
    with closing(PhonemeClient()) as made:
        yield made


def pid(client: PhonemeClient) -> int:
    assert client._connection is not None
    return client._connection._process.pid


@pytest.mark.slow
def test_words_are_pronounced(client: PhonemeClient) -> None:
    assert client.phonemes("Hello, world!", ENGLISH) == "həlˈoʊ, wˈɜːld!"
    assert client.phonemes("", ENGLISH) == ""
    assert client.phonemes("نعم، لا؟", [Voice("ar")]) == "nˈaʕam, lˈaː?"
    assert client.phonemes("yes", [Voice("no-such"), *ENGLISH]) == "jˈɛs"


@pytest.mark.slow
def test_an_unknown_voice_is_an_error_of_its_request_alone(client: PhonemeClient) -> None:
    with pytest.raises(ProviderError, match="no such voice: no-such"):
        client.phonemes("yes", [Voice("no-such")])
    first = pid(client)
    assert client.phonemes("yes", ENGLISH)
    assert pid(client) == first


@pytest.mark.slow
def test_a_crash_costs_one_request(client: PhonemeClient) -> None:
    assert client.phonemes("yes", ENGLISH)
    os.kill(pid(client), signal.SIGSEGV)
    with pytest.raises(ProviderError, match="crashed") as caught:
        client.phonemes("no", ENGLISH)
    assert caught.value.reason == REQUEST
    assert client.phonemes("yes", ENGLISH) == "jˈɛs"


@pytest.mark.slow
def test_repeated_crashes_are_restarted_with_a_delay(client: PhonemeClient) -> None:
    for _ in range(2):
        client._connect()
        os.kill(pid(client), signal.SIGKILL)
        with pytest.raises(ProviderError, match="crashed"):
            client.phonemes("no", ENGLISH)
    with pytest.raises(ProviderError, match="not started yet") as caught:
        client.phonemes("no", ENGLISH)
    assert caught.value.retry_after


@pytest.mark.slow
def test_text_is_cleaned_before(client: PhonemeClient) -> None:
    """This character ends a process that speaks Arabic with version 1.52."""
    assert client.phonemes("\u28ff", [Voice("ar")]) == ""
    assert client.phonemes("x" * 100_000, ENGLISH)
    assert client._failures == 0


@pytest.mark.slow
def test_close_ends_the_process_and_a_later_question_starts_another(client: PhonemeClient) -> None:
    assert client.phonemes("yes", ENGLISH)
    first = pid(client)
    client.close()
    client.close()
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert client.phonemes("yes", ENGLISH)
