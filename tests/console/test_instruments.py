"""The instruments of these tests see what they are for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

from tests.console.axe import check_accessibility
from tests.console.conftest import OpenVisit
from tests.console.house import ConsoleHouse
from tests.console.sound import LEAD_IN_S, played
from tests.support.waiting import until

if TYPE_CHECKING:
    from playwright.async_api import Browser

FAULTS = {
    "console: it broke": "() => console.error('it broke')",
    "error: ": "() => new Promise((end) => { setTimeout(() => { end(); boom(); }); })",
    "content security policy: style-src": """() => {
        const style = document.createElement("style");
        style.textContent = "h1 { color: red }";
        document.head.append(style);
    }""",
    "foreign: ": "() => fetch('http://vixio.example/').catch(() => undefined)",
    "404: GET": "() => fetch('/console/0123456789ab/app.js')",
    "failed: GET": "() => fetch('http://127.0.0.1:9/', {mode: 'no-cors'}).catch(() => undefined)",
}


@pytest.mark.parametrize("problem", FAULTS)
async def test_what_is_wrong_in_a_page_is_noticed(
    shared_house: ConsoleHouse, open_visit: OpenVisit, problem: str
) -> None:
    # The page's own policy would hold back what the last ones ask for.
    visit = await open_visit(shared_house, bypass_csp=problem.startswith(("foreign", "failed")))
    await visit.go("#/login")
    await visit.settled()
    visit.watch.check()
    await visit.page.evaluate(FAULTS[problem])
    await until(
        lambda: any(each.startswith(problem) for each in visit.watch.problems), what=problem
    )
    visit.watch.problems.clear()


async def test_what_cannot_be_read_is_noticed(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(shared_house)
    await visit.go("#/login")
    await visit.settled()
    await visit.page.evaluate("() => document.querySelector('label').remove()")
    with pytest.raises(AssertionError, match="label"):
        await check_accessibility(visit.page)


TONE = """async (seconds) => {
    const context = new AudioContext();
    await context.resume();
    const tone = new OscillatorNode(context, {frequency: 440});
    const gain = new GainNode(context, {gain: 0.5});
    tone.connect(gain).connect(context.destination);
    tone.start();
    tone.stop(context.currentTime + seconds);
    await new Promise((end) => { tone.onended = end; });
    // The recorder hands on whole blocks: the last one comes a while later.
    await new Promise((end) => { setTimeout(end, 300); });
}"""


async def test_what_a_page_plays_is_recorded(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(shared_house)
    await visit.go("#/login")
    await visit.page.evaluate(TONE, 1.0)
    found = await played(visit.page, forget=True)
    assert 0.9 <= found.loud_seconds <= 1.1
    samples = found.pcm.samples
    assert 0.45 <= float(abs(samples).max()) / 32768 <= 0.55
    assert (await played(visit.page)).loud_seconds == 0


LISTEN = """async (seconds) => {
    const stream = await navigator.mediaDevices.getUserMedia({audio: {
        echoCancellation: false, noiseSuppression: false, autoGainControl: false}});
    const context = new AudioContext();
    await context.resume();
    context.createMediaStreamSource(stream).connect(context.destination);
    await new Promise((end) => { setTimeout(end, seconds * 1000); });
}"""


async def test_the_microphone_hears_words(
    shared_house: ConsoleHouse,
    open_visit: OpenVisit,
    speaking_browser: Callable[..., Awaitable[Browser]],
) -> None:
    visit = await open_visit(shared_house, browser=await speaking_browser("what time is it"))
    await visit.go("#/login")
    await visit.page.evaluate(LISTEN, LEAD_IN_S + 3.0)
    found = await played(visit.page)
    assert found.loud_seconds > 0.5
    assert found.pcm.duration > LEAD_IN_S


async def test_without_a_microphone_there_is_none(
    shared_house: ConsoleHouse, open_visit: OpenVisit
) -> None:
    visit = await open_visit(shared_house)
    await visit.go("#/login")
    kinds = await visit.page.evaluate(
        "async () => (await navigator.mediaDevices.enumerateDevices()).map((each) => each.kind)"
    )
    assert "audioinput" not in kinds
