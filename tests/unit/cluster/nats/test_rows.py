from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vixio.cluster.nats.rows import DEVICE, Change, Table, pages

nodes = st.sampled_from(["a", "b", "c"])
changes = st.lists(
    st.tuples(
        st.sampled_from(["sockets", "addresses", DEVICE]),
        st.sampled_from(["", "x", "y"]),
        st.integers(0, 3),
    ),
    max_size=5,
)
steps = st.lists(
    st.tuples(st.sampled_from(["change", "replace", "drop"]), nodes, changes), max_size=20
)


@given(steps)
def test_the_sums_are_those_of_what_the_nodes_have(
    steps: list[tuple[str, str, list[Change]]],
) -> None:
    table = Table()
    model: dict[str, dict[tuple[str, str], int]] = {}
    for what, node, found in steps:
        rows = model.setdefault(node, {})
        if what == "drop":
            table.drop(node)
            rows.clear()
            continue
        if what == "replace":
            table.replace(node, found)
            rows.clear()
        else:
            table.change(node, found)
        rows.update({(name, key): number for name, key, number in found})
    for name in ("sockets", "addresses"):
        for key in ("", "x", "y"):
            total = sum(rows.get((name, key), 0) for rows in model.values())
            assert table.sum(name, key) == total
            for node, rows in model.items():
                assert table.of(node, name, key) == rows.get((name, key), 0)
    for key in ("", "x", "y"):
        having = {node for node, rows in model.items() if rows.get((DEVICE, key))}
        assert (table.where(key) in having) if table.where(key) else True
    assert len(table) == sum(1 for rows in model.values() for number in rows.values() if number)


def test_a_device_is_where_it_came_last() -> None:
    table = Table()
    table.change("a", [(DEVICE, "d", 1)])
    table.change("b", [(DEVICE, "d", 1)])
    table.change("a", [(DEVICE, "d", 0)])  # heard late
    assert table.where("d") == "b"
    assert table.drop("b") == 1
    assert table.where("d") == ""


def test_pages_hold_all_rows() -> None:
    rows = {("sockets", str(number)): number for number in range(5)}
    found = list(pages(rows, 2))
    assert [len(page) for page in found] == [2, 2, 1]
    assert [change for page in found for change in page] == [
        ("sockets", str(number), number) for number in range(5)
    ]
    assert list(pages({}, 2)) == [[]]
