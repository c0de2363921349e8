"""Nothing of the example reports to a vendor, as far as that shows on the disk."""

from __future__ import annotations

from tests.ray.service import SpeechService


def test_onnxruntime_keeps_no_events(service: SpeechService) -> None:
    """Its telemetry would have a database and an id there as soon as a replica has loaded it."""
    assert service.replicas("Voice")
    assert not service.home.joinpath(".cache", "Microsoft").exists()
