"""Documents on SQLite and PostgreSQL: found by words, of their owners alone, and erased."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.registry_databases import Make
from vixio.data.database.database import Database
from vixio.data.devices.repository import DeviceRepository
from vixio.data.papers.records import EVERYBODY, PaperError, Passage, State, owner_of
from vixio.data.papers.repository import PaperRepository, index_again
from vixio.data.papers.words import terms_of, words_of

ANNA, KITCHEN = owner_of(person="anna"), owner_of(profile="kitchen")


@pytest.fixture
async def database(make: Make) -> AsyncIterator[Database]:
    database = make()
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def papers(database: Database) -> PaperRepository:
    return PaperRepository(database)


async def keep(
    papers: PaperRepository,
    name: str,
    texts: Sequence[str],
    owner: str = EVERYBODY,
    origin: str = "",
) -> str:
    paper = await papers.begin(owner, name, origin, "digest", 10)
    title = " ".join(words_of(name))
    passages = [
        Passage(number, "", text, (title, " ".join(words_of(text))))
        for number, text in enumerate(texts, 1)
    ]
    await papers.put(paper, passages)
    return (await papers.end(paper, len(texts))).id


async def find(papers: PaperRepository, question: str, *owners: str) -> list[tuple[str, int]]:
    whose = [EVERYBODY, *owners]
    numbers = await papers.by_words(terms_of(question), whose, 10)
    found = await papers.passages(numbers, whose)
    return [(found[number].document, found[number].page) for number in numbers]


async def test_a_passage_is_found_by_its_words(papers: PaperRepository) -> None:
    await keep(papers, "boiler.pdf", ["The cover.", "To reset the boiler, press the red button."])
    await keep(papers, "garden.md", ["Roses are cut in March.", "Tomatoes need water."])
    await keep(papers, "菜谱.txt", ["宫保鸡丁要放花生米", "麻婆豆腐要放花椒"])
    assert (await find(papers, "How do I reset my boilers?"))[0] == ("boiler.pdf", 2)
    assert await find(papers, "When was the rose cut?") == [("garden.md", 1)]
    assert (await find(papers, "宮保雞丁里放什么？"))[0] == ("菜谱.txt", 1)
    assert await find(papers, "椒") == [("菜谱.txt", 2)]
    assert await find(papers, "carburettor") == []
    assert await find(papers, "'\" OR * :* \\ -- & |") == []


async def test_a_rare_word_counts_more_than_a_frequent_one(papers: PaperRepository) -> None:
    await keep(papers, "a", [f"the filter of machine {name}" for name in ("ab", "cd", "ef", "gh")])
    assert (await find(papers, "machine filter ef"))[0] == ("a", 3)


async def test_what_belongs_to_others_is_not_found(papers: PaperRepository) -> None:
    await keep(papers, "letter.txt", ["the secret letter"], ANNA)
    await keep(papers, "recipe.txt", ["the secret recipe"], KITCHEN)
    assert await find(papers, "secret") == []
    assert await find(papers, "secret", ANNA) == [("letter.txt", 1)]
    assert await find(papers, "secret", KITCHEN) == [("recipe.txt", 1)]
    numbers = await papers.by_words(["secret"], [ANNA], 10)
    assert await papers.passages(numbers, [EVERYBODY, KITCHEN]) == {}


async def test_a_document_is_replaced_by_one_of_its_name(papers: PaperRepository) -> None:
    await keep(papers, "price.txt", ["eggs cost two euro"])
    await keep(papers, "price.txt", ["eggs cost three euro"], ANNA)
    new = await keep(papers, "price.txt", ["milk costs one euro"])
    assert await find(papers, "eggs") == []
    assert await find(papers, "milk") == [("price.txt", 1)]
    assert [each.id for each in await papers.all(EVERYBODY)] == [new]
    assert await find(papers, "eggs", ANNA) == [("price.txt", 1)]


async def test_a_document_is_not_found_before_all_of_it_is_kept(papers: PaperRepository) -> None:
    paper = await papers.begin(EVERYBODY, "half.txt", "", "d", 1)
    await papers.put(paper, [Passage(1, "", "half", ("", "half"))])
    assert await find(papers, "half") == []
    assert await papers.all() == []
    failed = await papers.end(paper, 0, "it is encrypted")
    assert (failed.state, failed.problem) == (State.FAILED, "it is encrypted")
    assert await find(papers, "half") == []


async def test_erasing_leaves_nothing(papers: PaperRepository, database: Database) -> None:
    first = await keep(papers, "a.txt", ["alpha"], ANNA)
    await keep(papers, "b.txt", ["beta"], ANNA)
    await keep(papers, "c.txt", ["gamma"])
    assert (await papers.remove("a.txt")).id == first
    assert await papers.erase(ANNA) == 1
    with pytest.raises(PaperError, match=r"no document is called 'b.txt'"):
        await papers.remove("b.txt")
    assert await papers.erase() == 1
    async with database.transaction(write=False) as transaction:
        for table in ("papers", "paper_passages", "paper_index", "paper_vectors"):
            row = await transaction.fetch_one(f"SELECT COUNT(*) AS rows FROM {table}")  # noqa: S608
            assert row == {"rows": 0}, table


async def test_the_index_can_be_made_again(papers: PaperRepository, database: Database) -> None:
    await keep(papers, "boiler.pdf", ["press the red button", "浇水"])
    async with database.transaction() as transaction:
        await transaction.execute("DELETE FROM paper_index")
    assert await find(papers, "button") == []
    await index_again(database)
    assert await find(papers, "buttons") == [("boiler.pdf", 1)]
    assert await find(papers, "boiler 浇水") == [("boiler.pdf", 2), ("boiler.pdf", 1)]


async def test_vectors_belong_to_passages_and_models(papers: PaperRepository) -> None:
    await keep(papers, "a.txt", ["one", "two"], ANNA)
    (first, text), (second, _) = (await papers.without_vector("m", 10)).items()
    assert text.split() == ["a.txt", "one"]
    await papers.put_vectors("m", {first: b"1234", second: b"5678", second + 1: b"gone"})
    assert await papers.without_vector("m", 10) == {}
    assert len(await papers.without_vector("other", 10)) == 2
    assert await papers.vectors("m", first, 10) == [(second, ANNA, b"5678")]
    await papers.erase(ANNA)
    with suppress(IndexError):
        assert (await papers.vectors("m", -1, 10))[0] is None


async def test_a_person_and_a_profile_take_their_documents_along(
    papers: PaperRepository, database: Database, tmp_path: Path
) -> None:
    registry = DeviceRepository(database)
    anna = await registry.people.add("Anna", "test")
    await registry.profiles.put("kitchen", {}, "test")
    await registry.profiles.put("hall", {}, "test")
    for owner, words in (
        (owner_of(person=anna.id), "zyxwomul"),
        (KITCHEN, "zyxwokap"),
        (owner_of(profile="hall"), "zyxwohon"),
    ):
        await keep(papers, "letter.txt", [f"the {words} letter"], owner)

    def left() -> set[bytes]:
        words = b"zyxwomul", b"zyxwokap", b"zyxwohon"
        kept = [each.read_bytes() for each in tmp_path.glob("*") if each.is_file()]
        return {each for each in words if any(each in content for content in kept)}

    await database.purge()
    there = left()
    assert len(there) in (3, 0)  # PostgreSQL's are elsewhere
    await registry.people.remove("Anna", "test")
    assert left() == there - {b"zyxwomul"}
    await registry.profiles.remove("kitchen", "test")
    assert left() == there - {b"zyxwomul", b"zyxwokap"}
    assert [each.owner for each in await papers.all()] == [owner_of(profile="hall")]


async def test_the_words_of_a_document_are_in_the_index_itself(
    papers: PaperRepository, database: Database
) -> None:
    """Not in the list of new rows that each search of PostgreSQL would read."""
    await keep(papers, "a.txt", ["one", "two"])
    async with database.transaction() as transaction:
        if transaction.dialect == "postgresql":
            row = await transaction.fetch_one(
                "SELECT gin_clean_pending_list('paper_index_words') AS pages"
            )
            assert row == {"pages": 0}
