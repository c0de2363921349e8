"""Names as users say them, and recognisers write them."""

from __future__ import annotations

import pytest

from vixio.tools.media.finding import Index, Wanted
from vixio.tools.media.library import Item

SONGS = (
    ("Bohemian Rhapsody", "Queen", "A Night at the Opera", "Rock"),
    ("Love of My Life", "Queen", "A Night at the Opera", "Rock"),
    ("Yesterday", "The Beatles", "Help!", "Pop"),
    ("Yellow Submarine", "The Beatles", "Revolver", "Pop"),
    ("So What", "Miles Davis", "Kind of Blue", "Jazz"),
    ("Für Elise", "Ludwig van Beethoven", "Piano", "Classical"),
    ("Für immer jung", "Karel Gott", "Lieder", "Schlager"),
    ("晴天", "周杰伦", "叶惠美", "流行"),
    ("七里香", "周杰伦", "七里香", "流行"),
    ("月亮代表我的心", "邓丽君", "岛国情歌", "老歌"),
)


@pytest.fixture(scope="module")
def index() -> Index:
    songs = [
        Item(title, f"/m/{n}.mp3", "music", artist, album, genre, ("Evening",) * (n < 2), n)
        for n, (title, artist, album, genre) in enumerate(SONGS)
    ]
    stories = [
        Item("The Three Bears", "/s/1.mp3", "story", groups=("Anna",)),
        Item("The Brave Tailor", "/s/2.mp3", "story", groups=("Tom",)),
        Item("三只小猪", "/s/3.mp3", "story", groups=("安娜",)),
    ]
    radio = [
        Item("Radio Swiss Jazz", "https://r/1", "radio"),
        Item("中国之声", "https://r/2", "radio"),
    ]
    podcasts = [Item("Science Hour", "https://p/1", "podcast")]
    return Index([*songs, *stories, *radio, *podcasts])


@pytest.mark.parametrize(
    ("query", "kind", "first"),
    [
        ("Bohemian Rhapsody", "any", "Bohemian Rhapsody"),
        ("bohemian rapsody", "any", "Bohemian Rhapsody"),
        ("bohemien rhapsodie", "any", "Bohemian Rhapsody"),
        ("bohemian rhapsody by queen", "any", "Bohemian Rhapsody"),
        ("yesturday", "any", "Yesterday"),
        ("yellow sub marine", "any", "Yellow Submarine"),
        ("the song yesterday by the beetles", "music", "Yesterday"),
        ("fur elise", "any", "Für Elise"),
        ("fuer elise", "any", "Für Elise"),
        ("love of my life", "any", "Love of My Life"),
        ("晴天", "any", "晴天"),
        ("青天", "any", "晴天"),
        ("请放一首周杰伦的晴天", "any", "晴天"),
        ("月亮代表我的星", "any", "月亮代表我的心"),
        ("the three bares", "any", "The Three Bears"),
        ("a story for Anna", "any", "The Three Bears"),
        ("Tom", "story", "The Brave Tailor"),
        ("安娜的故事", "any", "三只小猪"),
        ("给安那讲一个故事", "any", "三只小猪"),
        ("radio swiss jazz", "any", "Radio Swiss Jazz"),
        ("swiss jaz", "radio", "Radio Swiss Jazz"),
        ("中国之生", "radio", "中国之声"),
        ("science our", "podcast", "Science Hour"),
    ],
)
def test_a_title_or_a_group_is_found_by_ear(
    index: Index, query: str, kind: Wanted, first: str
) -> None:
    assert [item.title for item in index.search(query, kind)][:1] == [first]


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("something by queen", {"Bohemian Rhapsody", "Love of My Life"}),
        ("queens", {"Bohemian Rhapsody", "Love of My Life"}),
        ("the beetles", {"Yesterday", "Yellow Submarine"}),
        ("a night at the opera", {"Bohemian Rhapsody", "Love of My Life"}),
        ("evening", {"Bohemian Rhapsody", "Love of My Life"}),
        ("jazz", {"So What"}),
        ("周杰伦的歌", {"晴天", "七里香"}),
        ("周节轮", {"晴天", "七里香"}),
    ],
)
def test_an_artist_album_genre_or_playlist_is_all_of_it(
    index: Index, query: str, titles: set[str]
) -> None:
    assert {item.title for item in index.search(query, "music")} == titles


@pytest.mark.parametrize("query", ["", "music", "some music please", "音乐", "放一首歌"])
def test_no_name_is_all_music(index: Index, query: str) -> None:
    assert len(index.search(query)) == len(SONGS)


@pytest.mark.parametrize("query", ["the weather in Paris", "xylophone quartet", "明天的天气"])
def test_what_is_not_there_is_not_found(index: Index, query: str) -> None:
    assert index.search(query) == []


def test_a_story_for_somebody_who_has_none_is_any_story(index: Index) -> None:
    assert {item.kind for item in index.search("a story for Zacharias")} == {"story"}


def test_a_hundred_thousand_names_take_a_moment(index: Index) -> None:
    many = [
        Item(f"Song number {n}", f"/m/{n}", "music", f"Artist {n % 999}") for n in range(20_000)
    ]
    assert Index([*many, *index.items]).search("bohemian rapsody")[0].artist == "Queen"
