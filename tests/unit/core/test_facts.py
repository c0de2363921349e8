"""Facts about users: what is kept, what is found to be forgotten, and for whom."""

from vixio.core.facts import MAX_FACT_CHARS, MAX_FACTS, InMemoryFactStore


async def test_facts_are_their_owners() -> None:
    store = InMemoryFactStore()
    await store.add("a", "likes  green\n tea")
    await store.add("a", "likes green tea")
    await store.add("b", "has a dog")
    assert await store.facts("a") == ["likes green tea"]
    assert await store.facts("b") == ["has a dog"]
    assert await store.facts("c") == []
    assert await store.remove("b", "tea") == []
    assert await store.clear("a") == 1
    assert await store.facts("a") == []


async def test_what_is_about_something_is_forgotten() -> None:
    store = InMemoryFactStore()
    for fact in ("Likes green tea", "likes black tea", "is called Ann"):
        await store.add("a", fact)
    assert await store.remove("a", "  ") == []
    assert await store.remove("a", "green TEA") == ["Likes green tea"]
    assert await store.facts("a") == ["likes black tea", "is called Ann"]


async def test_everything_is_bounded() -> None:
    store = InMemoryFactStore(max_owners=2)
    for number in range(MAX_FACTS + 5):
        await store.add("a", f"fact {number}")
    assert len(await store.facts("a")) == MAX_FACTS
    await store.add("b", "x" * 2 * MAX_FACT_CHARS)
    assert [len(fact) for fact in await store.facts("b")] == [MAX_FACT_CHARS]
    await store.add("c", "new")
    assert await store.facts("a") == [], "the owner that was seen longest ago"
