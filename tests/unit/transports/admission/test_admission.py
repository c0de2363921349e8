"""What a device needs to be admitted, without a network."""

from __future__ import annotations

from vixio.transports.admission.admission import Admission, AdmissionSettings
from vixio.transports.admission.identity import Identity
from vixio.transports.admission.limits import Limits


def refused(admission: Admission, device_id: str, peer: str = "192.0.2.1") -> str:
    """Return the reason of a refusal; an admitted device counts as connected."""
    identity = Identity.stated(device_id, "", "")
    refusal = admission.check(identity, admission.tracker.arrive(peer))
    if refusal is None:
        admission.admit(identity.device_id)
        return ""
    return refusal.reason


def test_connections_are_bounded_but_not_for_a_device_that_comes_again() -> None:
    admission = Admission(AdmissionSettings(max_connections=2))
    assert [refused(admission, device) for device in ("a", "b", "c", "A ", "c")] == [
        "",
        "",
        "full",
        "",
        "full",
    ]
    admission.depart("a")
    assert refused(admission, "c") == "full"  # the older connection of a is still there
    admission.depart("a")
    assert refused(admission, "c") == ""


def test_a_known_device_may_exceed_the_connections_of_its_address() -> None:
    limits = Limits(connections_per_address=1)
    admission = Admission(AdmissionSettings(limits=limits))
    assert [refused(admission, device) for device in ("a", "b", "a")] == ["", "connections", ""]


def test_a_device_that_left_is_forgotten() -> None:
    admission = Admission()
    for number in range(3):
        assert refused(admission, f"d{number}") == ""
        admission.depart(f"d{number}")
    assert (admission.admitted, admission.is_connected("d1")) == (0, False)
    assert not admission._devices


def test_refusals_are_counted() -> None:
    admission = Admission()
    assert refused(admission, " ") == "no_device_id"
    assert refused(admission, "x" * 129) == "bad_device_id"
    assert refused(admission, "a\nb") == "bad_device_id"
    assert admission.counters.get("admission.refused.no_device_id") == 1
    assert admission.counters.get("admission.refused.bad_device_id") == 2


def test_stating_an_identity() -> None:
    identity = Identity.stated("AA-BB-CC-DD-EE-0F", "c", "bearer  t")
    assert identity == Identity("aa:bb:cc:dd:ee:0f", "c", "t", "AA-BB-CC-DD-EE-0F")
    assert Identity.stated("a", "", "t") == Identity("a", token="t")
    assert Identity.stated("a", "", "Basic t").token == ""


def test_nothing_is_measured_once_the_last_transport_has_stopped() -> None:
    admission = Admission()
    assert not admission.overloaded
    assert admission.stats()["max_connections"] == 1_000
