"""``vixio bench papers``: how well and how soon documents are found.

The corpus is made: manuals of things that a household has, English and Chinese, a page for each
subject of each manual, with sentences that all manuals share. Manuals of one kind of thing differ
by their brand and their figures. There are 200 questions with known pages, of three kinds:

- ``same``: in the words of the page, in other forms;
- ``half``: one of the two words that name the subject is another;
- ``other``: none is, so that only brand and thing are left of the page's words.

Without embeddings the third kind is a matter of luck: each manual has 20 pages. Embeddings come
from a stand-in that knows all words for a subject, so they show what fusion adds at best, not what
a model does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np

from vixio.data.database.create import make_database
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.papers.reader import PaperLimits, PaperReader
from vixio.data.papers.records import EVERYBODY, Passage
from vixio.data.papers.repository import PaperRepository
from vixio.data.papers.service import Papers
from vixio.data.papers.vectors import Vectors
from vixio.data.papers.words import words_of

TOP: Final = 3
BRANDS: Final = re.findall(
    r"\w+",
    "Alvor Benito Corvex Dunmar Elkata Fennor Galdis Hovrin Istrel Jomvik Kestor Lunder Marvik "
    "Nordal Orvane Pelkin Quarto Rismel Sondra Tavril Ulmet Verdon Wexall Yorvik Zentro",
)
THINGS: Final = {
    "en": re.findall(
        r"[a-z ]+",
        "dishwasher,boiler,vacuum cleaner,coffee machine,freezer,tumble dryer,air purifier,"
        "lawn mower,sewing machine,doorbell",
    ),
    "zh": re.findall(
        r"\w+", "洗碗机,热水器,吸尘器,咖啡机,冰柜,烘干机,空气净化器,割草机,缝纫机,门铃"
    ),
}
SUBJECTS: Final = {
    "en": [
        ("clean the filter", "wash the sieve"),
        ("descale the pump", "remove lime from the motor"),
        ("replace the battery", "swap the accumulator"),
        ("warranty period", "guarantee duration"),
        ("noise level", "loudness rating"),
        ("water pressure", "supply force"),
        ("error code", "fault number"),
        ("reset button", "restart key"),
        ("power consumption", "energy usage"),
        ("spare parts", "replacement components"),
        ("storage temperature", "keeping warmth"),
        ("child lock", "kid safety"),
        ("install the hose", "mount the tube"),
        ("adjust the feet", "level the stand"),
        ("wireless connection", "wifi network"),
        ("dispose packaging", "throw away cartons"),
        ("lubricate bearings", "oil joints"),
        ("drain the tank", "empty the container"),
        ("change the language", "switch the tongue"),
        ("service hotline", "support telephone"),
    ],
    "zh": [
        ("清洗滤网", "洗涤过滤器"),
        ("水泵除垢", "马达去水碱"),
        ("更换电池", "换蓄电器"),
        ("保修期限", "质保时长"),
        ("噪音等级", "响声大小"),
        ("进水压力", "供水力度"),
        ("故障代码", "错误编号"),
        ("复位按钮", "重启按键"),
        ("功率消耗", "耗电量"),
        ("备用零件", "替换配件"),
        ("存放温度", "保存冷热"),
        ("儿童安全锁", "防孩子误触"),
        ("安装软管", "装上管子"),
        ("调节支脚", "摆平底座"),
        ("无线连接", "联网设置"),
        ("包装回收", "丢弃纸箱"),
        ("轴承润滑", "关节上油"),
        ("排空水箱", "倒掉积水"),
        ("切换语言", "改变语种"),
        ("售后热线", "客服电话"),
    ],
}
SHARED: Final = {
    "en": (
        "Read this page before you use the machine. Keep the manual in a dry place. Work at the "
        "machine only when it is disconnected from the mains. Ask the service if you are unsure. "
        "The machine is made for households and not for industry. "
    ),
    "zh": (
        "使用前请阅读本页。请将说明书保存在干燥处。操作前请断开电源。如有疑问请联系服务人员。"
        "本机供家庭使用。"
    ),
}
ASKING: Final = {
    "en": (
        "How do I {a} {b} of my {brand} {thing}?",
        "What about {a} {b} with the {brand} {thing}s?",
    ),
    "zh": ("请问{brand}{thing}的{a}{b}是怎么回事？", "{brand}的{thing}，{a}{b}应该怎么弄？"),
}


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the corpus, and what it is about."""

    document: str
    page: int
    text: str
    language: str
    brand: str
    thing: int
    subject: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the page that answers it."""

    text: str
    kind: str
    page: Page


def corpus(pages: int, chance: random.Random) -> list[Page]:
    """Make at most so many pages, in both languages."""
    made = []
    for brand in BRANDS:
        for language in ("en", "zh"):
            for thing, name in enumerate(THINGS[language]):
                document = f"{brand} {name}.pdf"
                for subject, (words, _) in enumerate(SUBJECTS[language]):
                    figure = chance.randint(2, 900)
                    text = _text(language, words, figure, chance)
                    made.append(Page(document, subject + 1, text, language, brand, thing, subject))
    return made[:pages]


def _text(language: str, words: str, figure: int, chance: random.Random) -> str:
    shared = SHARED[language] * (4 if language == "en" else 6)
    about = (
        f"{words.capitalize()}: the value is {figure}. This is what you need to know when you "
        f"{words}. See {figure} in the table."
        if language == "en"
        else f"{words}：数值为{figure}。关于{words}的说明见表{figure}。"
    )
    at = chance.randrange(len(shared) // 2)
    return f"{shared[:at]} {about} {shared[at:]}"


def questions(pages: Sequence[Page], number: int, chance: random.Random) -> list[Question]:
    """Make questions about pages, as many of each language and kind."""
    made = []
    for at in range(number):
        language = ("en", "zh")[at % 2]
        kind = ("same", "same", "half", "half", "other")[at // 2 % 5]
        page = chance.choice([each for each in pages if each.language == language])
        same, other = SUBJECTS[language][page.subject]
        cut = same.rindex(" ") if language == "en" else len(same) // 2
        cut_other = other.rindex(" ") if language == "en" else len(other) // 2
        a, b = same[:cut], same[cut:].strip()
        if kind == "other":
            a, b = other[:cut_other], other[cut_other:].strip()
        elif kind == "half":
            b = other[cut_other:].strip()
        pattern = chance.choice(ASKING[language])
        thing = THINGS[language][page.thing]
        made.append(Question(pattern.format(a=a, b=b, brand=page.brand, thing=thing), kind, page))
    return made


class IdealEmbeddings:
    """Knows brands, things and subjects by any of their words; each is a direction."""

    def __init__(self, size: int) -> None:
        self._chance = np.random.default_rng(7)
        self._size = size
        self._known: dict[str, np.ndarray] = {}

    async def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [self._vector(text).tolist() for text in texts]

    def _vector(self, text: str) -> np.ndarray:
        low = text.lower()
        found = [brand for brand in BRANDS if brand.lower() in low]
        for language, things in THINGS.items():
            found += [f"thing {at}" for at, name in enumerate(things) if name in low]
            weights = [
                sum(word in low for part in names for word in _words(part, language))
                for names in SUBJECTS[language]
            ]
            if max(weights):
                found.append(f"{language} subject {weights.index(max(weights))}")
        return sum((self._direction(each) for each in found), np.full(self._size, 1e-3))

    def _direction(self, name: str) -> np.ndarray:
        if name not in self._known:
            self._known[name] = self._chance.standard_normal(self._size)
        return self._known[name]


def _words(part: str, language: str) -> list[str]:
    if language == "en":
        return [word for word in part.split() if word != "the"]
    return [part[at : at + 2] for at in range(len(part) - 1)]


async def fill(papers: Papers, pages: Sequence[Page]) -> float:
    """Keep the corpus, a document a manual; return the seconds that it took."""
    began = perf_counter()
    documents: dict[str, list[Page]] = {}
    for page in pages:
        documents.setdefault(page.document, []).append(page)
    for name, its in documents.items():
        title = " ".join(words_of(name.removesuffix(".pdf")))
        passages = [
            Passage(page.page, "", page.text, (title, " ".join(words_of(page.text))))
            for page in its
        ]
        begin = partial(
            PaperRepository.begin, owner=EVERYBODY, name=name, origin="", digest="d", size=1
        )
        paper = await papers.use(begin)
        await papers.use(partial(PaperRepository.put, paper_id=paper, passages=passages))
        await papers.use(partial(PaperRepository.end, paper_id=paper, pages=len(its)))
    return perf_counter() - began


async def measure(papers: Papers, asked: Sequence[Question]) -> dict[str, object]:
    """Ask all questions; return recall by kind, and times in milliseconds."""
    hits: dict[str, list[bool]] = {}
    times = []
    for question in asked:
        began = perf_counter()
        found = await papers.search(question.text, [EVERYBODY], TOP)
        times.append(1_000 * (perf_counter() - began))
        right = (question.page.document, question.page.page)
        hit = right in [(each.document, each.page) for each in found]
        for kind in (question.kind, question.page.language, "all"):
            hits.setdefault(kind, []).append(hit)
    return {
        "recall_at_3": {kind: round(statistics.mean(each), 3) for kind, each in hits.items()},
        "p50_ms": round(statistics.median(times), 1),
        "p95_ms": round(statistics.quantiles(times, n=20)[-1], 1),
    }


async def embed(papers: Papers, vectors: Vectors) -> None:
    """Have all passages embedded."""
    while texts := await papers.use(lambda kept: kept.without_vector(vectors.model, 500)):
        made = await vectors.make(list(texts.values()))
        new = dict(zip(texts, made, strict=True))
        put = partial(PaperRepository.put_vectors, model=vectors.model, vectors=new)
        await papers.use(put)


async def run(options: argparse.Namespace) -> dict[str, object]:
    """Measure."""
    chance = random.Random(options.seed)  # noqa: S311 - no secret
    pages = corpus(options.pages, chance)
    asked = questions(pages, options.questions, chance)
    with tempfile.TemporaryDirectory() as folder:
        link: Link[Database] = Link(
            lambda: make_database(Path(folder), options.database), name="bench", timeout=120.0
        )
        reader = PaperReader(PaperLimits())
        papers = Papers(link, reader)
        report: dict[str, object] = {
            "pages": len(pages),
            "questions": len(asked),
            "filled_s": round(await fill(papers, pages), 1),
        }
        report["words"] = await measure(papers, asked)
        vectors = Vectors(IdealEmbeddings(options.dimensions), "ideal")
        both = Papers(link, reader, vectors, least=0.3)
        await embed(both, vectors)
        await both.search("warm", [EVERYBODY])
        report["words_and_embeddings"] = await measure(both, asked)
        await papers.use(lambda kept: kept.erase())
        await link.close()
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(prog="vixio bench papers", description=__doc__)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--dimensions", type=int, default=1_024)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", default="", help="URL of an empty PostgreSQL database")
    report = asyncio.run(run(parser.parse_args(arguments)))
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 0
