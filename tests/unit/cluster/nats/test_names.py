from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from vixio.cluster.nats.cluster import name_of_life
from vixio.cluster.nats.names import encode, node_subject, proof_of


@given(st.text(max_size=60), st.text(max_size=60))
def test_each_id_is_one_token_of_its_own(one: str, two: str) -> None:
    assert re.fullmatch(r"[-_=a-zA-Z0-9]*", encode(one))
    assert (encode(one) == encode(two)) == (
        one.encode("utf-8", "replace") == two.encode("utf-8", "replace")
    )


def test_ids_of_devices_stay_readable() -> None:
    assert encode("02:00:00:00:00:01") == "02=3A00=3A00=3A00=3A00=3A01"
    assert encode("living-room_2") == "living-room_2"


def test_a_name_serves_for_one_life() -> None:
    one, two = name_of_life("Vixio 1.example.org"), name_of_life("Vixio 1.example.org")
    assert one != two
    for name in (one, two):
        assert re.fullmatch(r"vixio-1-example-org-[0-9a-f]{6}", name)
        assert " " not in node_subject(name, "yield")
    assert re.fullmatch(r"node-[0-9a-f]{6}", name_of_life(""))


def test_a_proof_is_of_the_secret_and_the_node() -> None:
    proofs = {proof_of(secret, node) for secret in ("a", "b") for node in ("a", "b")}
    assert len(proofs) == 4
