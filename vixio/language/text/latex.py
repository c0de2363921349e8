"""Writes a formula in LaTeX as plain symbols for the screen and as words for a voice.

Any text has a result: what is not known is written as it stands, without its backslash.
"""

from __future__ import annotations

import re
from typing import Final

from vixio.language.text import latex_table as table
from vixio.language.text.latex_terms import (
    Formula,
    Term,
    attach,
    fraction,
    grouped,
    joined,
    operator,
    put_letters,
    put_symbol,
    put_text,
    raise_unit,
)

_TOKEN: Final = re.compile(r"\\[A-Za-z]+\*?|\\.|\d+(?:[.,]\d+)*|[A-Za-z]+|\s+|.", re.DOTALL)
_ORDINALS: Final = frozenset({"th", "st", "nd", "rd"})
_DEEPEST: Final = 16
"""Braces within braces; further ones are left out."""
_MARKS: Final = {",": "，", ";": "；", ":": "：", ".": "。"}


def render(source: str, *, after_number: bool = False) -> Formula:
    """Return the formula ``source``. ``after_number``: a number stands directly before it."""
    parser = _Parser(_TOKEN.findall(source))
    if after_number:
        parser.seed = Term("number", "", "", "")
    return joined(parser.terms())


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self.seed: Term | None = None

    # -- reading -------------------------------------------------------------------------------

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        piece = self._peek()
        self._at += 1
        return piece

    def _skip_spaces(self) -> None:
        while self._peek().isspace():
            self._at += 1

    def terms(self, stop: str = "") -> list[Term]:
        """Read to ``stop``, or to the end."""
        terms: list[Term] = [self.seed] if self.seed else []
        self.seed = None
        self._depth += 1
        while (piece := self._next()) and piece != stop:
            self._read(piece, terms)
        self._depth -= 1
        return terms

    def _argument(self) -> list[Term]:
        """Read ``{…}``, or the one piece that stands for it."""
        self._skip_spaces()
        piece = self._next()
        if piece == "{" and self._depth < _DEEPEST:
            return self.terms("}")
        if len(piece) > 1 and not piece.startswith("\\"):  # \frac12, x^23
            self._at -= 1
            self._tokens[self._at] = piece[1:]
            piece = piece[0]
        terms: list[Term] = []
        if piece and piece not in "{}" and self._depth < _DEEPEST:
            self._depth += 1
            self._read(piece, terms)
            self._depth -= 1
        return terms

    def _source(self) -> str:
        """Read ``{…}`` as it is written."""
        self._skip_spaces()
        if self._peek() != "{":
            return self._next()
        found: list[str] = []
        depth = 0
        while piece := self._next():
            depth += (piece == "{") - (piece == "}")
            if not depth:
                break
            found.append(piece)
        return "".join(found[1:])

    def _read(self, piece: str, terms: list[Term]) -> None:
        if piece == "{":
            if self._depth < _DEEPEST:
                terms += self.terms("}")
        elif piece in "^_":
            self._script(piece, terms)
        elif piece.startswith("\\"):
            self._command(piece[1:], terms)
        elif piece[0].isdigit():
            terms.append(Term("number", piece, piece, piece))
        elif piece[0].isalpha() and piece.isascii():
            put_letters(piece, terms, function=self._peek() == "(")
        elif not piece.isspace():
            self._sign(piece, terms)

    def _sign(self, piece: str, terms: list[Term]) -> None:
        if piece in table.OPERATORS:
            terms.append(operator(table.OPERATORS[piece], terms))
        elif piece in table.LARGE:
            terms.append(self._large(piece))
        elif piece in ")]":
            terms.append(Term("close", piece, piece, piece))
        elif piece == "!" and terms:
            terms.append(Term("close", "!", "factorial", "的阶乘"))
        elif piece == "'":
            attach(terms, "'", "prime", "撇")
        elif piece == "&":
            terms.append(Term("cell", "", "", ""))
        elif piece in _MARKS:
            if piece == ":" and terms and terms[-1].kind == "number":
                terms.append(Term("close", ":", "to", "比"))
            else:
                terms.append(Term("mark", piece, piece, _MARKS[piece]))
        elif piece in table.SYMBOLS:
            put_symbol(table.SYMBOLS[piece], terms)
        elif piece == "|":
            terms.append(Term("letter", "|", "", ""))
        elif piece not in "{}~$":
            terms.append(Term("letter", piece, piece, piece))

    # -- commands ------------------------------------------------------------------------------

    def _command(self, name: str, terms: list[Term]) -> None:
        if name in table.TEXTS:
            put_text(self._source(), terms)
        elif name in table.FRACTIONS:
            terms.append(fraction(self._argument(), self._argument(), terms))
        elif name in table.BINOMIALS:
            n, k = joined(self._argument()), joined(self._argument())
            shown = f"C({n.shown}, {k.shown})"
            english, chinese = f"{n.english} choose {k.english}", f"{n.chinese}选{k.chinese}"
            terms.append(Term("close", shown, english, chinese))
        elif name == "sqrt":
            terms.append(self._root())
        elif name in table.CHEMISTRY:
            terms.append(Term("word", *_read_substances(self._source())))
        else:
            self._structure(name, terms)

    def _structure(self, name: str, terms: list[Term]) -> None:
        if name in table.COLORS:
            self._source()
        elif name in table.ACCENTS:
            inner, accent = self._argument(), table.ACCENTS[name]
            if accent.english:
                terms.append(Term("letter", "", accent.english, accent.chinese))
            terms += inner
        elif name == "begin":
            self._environment(terms)
        elif name == "end":
            self._source()
        elif name == "\\":
            if self._peek() == "[":
                while self._next() not in ("]", ""):
                    pass
            terms.append(Term("row", "", "", ""))
        else:
            self._plain_command(name, terms)

    def _plain_command(self, name: str, terms: list[Term]) -> None:
        if name in ("left", "right", "middle") and self._peek() == ".":
            self._at += 1
        elif name == "not":
            self._skip_spaces()
            equal = self._peek().lstrip("\\") == "="
            self._at += 1
            terms.append(operator(table.OPERATORS["ne" if equal else "notin"], terms))
        elif name in table.SPACES:
            terms.append(Term("space", " ", "", ""))
        elif name in table.LARGE:
            terms.append(self._large(name))
        elif name in table.FUNCTIONS:
            terms.append(self._function(name))
        elif name in table.OPERATORS:
            terms.append(operator(table.OPERATORS[name], terms))
        elif name in table.SYMBOLS:
            put_symbol(table.SYMBOLS[name], terms)
        elif name not in table.DELIMITERS and name[:1].isalpha():
            terms.append(Term("word", name, name, name))

    def _root(self) -> Term:
        self._skip_spaces()
        degree = Formula("", "", "")
        if self._peek() == "[":
            self._at += 1
            degree = joined(self.terms("]"))
        inner = joined(self._argument())
        shown = f"{degree.shown}√{grouped(inner.shown)}"
        names = {"": "square", "2": "square", "3": "cube"}
        name = names.get(degree.shown, f"{degree.english}th")
        chinese = f"{degree.chinese}次根号" if degree.shown else "根号"
        return Term(
            "close", shown, f"the {name} root of {inner.english}", f"{chinese}{inner.chinese}"
        )

    def _limits(self) -> tuple[Formula, Formula]:
        """Read ``_lower`` and ``^upper``, in either order."""
        found = {"_": Formula("", "", ""), "^": Formula("", "", "")}
        self._skip_spaces()
        while self._peek() in ("_", "^", "\\limits"):
            piece = self._next()
            if piece in found:
                found[piece] = joined(self._argument())
            self._skip_spaces()
        return found["_"], found["^"]

    def _large(self, name: str) -> Term:
        word = table.LARGE[name]
        lower, upper = self._limits()
        shown = word.shown
        shown += f"_{grouped(lower.shown)}" if lower.shown else ""
        shown += f"^{grouped(upper.shown)}" if upper.shown else ""
        if word.shown == "lim":
            english = f"the limit as {lower.english.replace(' to ', ' approaches ')} of"
            chinese = f"当{lower.chinese}时的极限"
        elif lower.shown and upper.shown:
            english = f"the {word.english} from {lower.english} to {upper.english} of"
            chinese = f"从{lower.chinese}到{upper.chinese}的{word.chinese}"
        elif lower.shown:
            english = f"the {word.english} over {lower.english} of"
            chinese = f"在{lower.chinese}上的{word.chinese}"
        else:
            english, chinese = f"the {word.english} of", word.chinese
        return Term("large", shown, english, chinese)

    def _function(self, name: str) -> Term:
        word = table.FUNCTIONS[name]
        if self._peek() == "_":
            lower = joined((self._next(), self._argument())[1])
            shown = f"{word.shown}_{grouped(lower.shown)}"
            if name == "log":
                english, chinese = f"log base {lower.english} of", f"以{lower.chinese}为底的对数"
            else:
                english, chinese = f"{word.english} {lower.english}", word.chinese + lower.chinese
            return Term("word", shown, english, chinese)
        return Term("word", *word)

    def _environment(self, terms: list[Term]) -> None:
        name = self._source()
        if name == "array" and self._peek() == "{":
            self._source()
        inner: list[Term] = []
        while (piece := self._next()) and piece != "\\end":
            if self._depth < _DEEPEST:
                self._depth += 1
                self._read(piece, inner)
                self._depth -= 1
        if piece:
            self._source()
        apart = name in table.MATRICES | table.DETERMINANTS | {"cases"}
        for at, term in enumerate(inner):
            if term.kind == "row":
                inner[at] = Term("mark", ";", ";", "；")
            elif term.kind == "cell" and apart:
                inner[at] = Term("mark", ",", ",", "，")
        if inner and inner[-1].shown == ";":
            inner.pop()
        if name in table.MATRICES | table.DETERMINANTS:
            whole = joined(inner)
            matrix = name in table.MATRICES
            english, chinese = ("matrix", "矩阵") if matrix else ("determinant", "行列式")
            shown = f"[{whole.shown}]" if matrix else f"|{whole.shown}|"
            inner = [
                Term("close", shown, f"the {english} {whole.english}", chinese + whole.chinese)
            ]
        terms += inner

    def _script(self, mark: str, terms: list[Term]) -> None:
        inner = self._argument()
        script = joined(inner)
        if not script.shown:
            return
        if mark == "_":
            numeric = script.shown.isdigit()
            english = script.english if numeric else f"sub {script.english}"
            chinese = script.chinese if numeric else f"下标{script.chinese}"
            attach(terms, f"_{grouped(script.shown)}", english, chinese)
        elif script.shown in ("°", "'"):
            attach(terms, script.shown, script.english, script.chinese)
        elif script.shown in _ORDINALS and terms:
            terms[-1].shown += script.shown
            terms[-1].english += script.shown
            terms[-1].chinese = f"第{terms[-1].chinese}"
        elif terms and terms[-1].kind == "unit" and script.shown in "23":
            raise_unit(terms[-1], script.shown)
        elif script.shown == "2":
            attach(terms, "²", "squared", "的平方")
        elif script.shown == "3":
            attach(terms, "³", "cubed", "的立方")
        else:
            english = f"to the power of {script.english}"
            attach(terms, f"^{grouped(script.shown)}", english, f"的{script.chinese}次方")


# -- chemistry ----------------------------------------------------------------------------

_SUBSTANCE_PART: Final = re.compile(
    r"(?P<arrow><=>|<->|->|=>|<-|→|⇌)|(?P<number>\d+)|(?P<element>[A-Z][a-z]?)"
    r"|\^\{?(?P<charge>\d*[+-])\}?|(?P<state>\((?:aq|s|l|g)\))|(?P<plus>(?<=\s)\+(?=\s))|(?P<other>[^\s_^{}$\\])"
)
_SUBSTANCE_STATES: Final = {
    "(aq)": ("in water", "水溶液"),
    "(s)": ("solid", "固体"),
    "(l)": ("liquid", "液体"),
    "(g)": ("gas", "气体"),
}
_SUBSTANCE_CHARGES: Final = {"+": ("plus", "正"), "-": ("minus", "负")}


def _read_substances(source: str) -> table.Words:
    r"""Return what substances and reactions (``\ce{2H2 + O2 -> 2H2O}``) show and say.

    Marks that are not known are left out of speech.
    """
    shown: list[str] = []
    english: list[str] = []
    chinese: list[str] = []
    for part in _SUBSTANCE_PART.finditer(source):
        text = part[0].strip()
        if part["arrow"]:
            both = "<" in text and ">" in text
            shown.append(" ⇌ " if both or text == "⇌" else " → ")
            english.append("is in equilibrium with" if both else "yields")
            chinese.append("可逆生成" if both else "生成")
        elif part["plus"]:
            shown.append(" + ")
            english.append("plus")
            chinese.append("加")
        elif charge := part["charge"]:
            shown.append(charge)
            word, wide = _SUBSTANCE_CHARGES[charge[-1]]
            english.append(f"{charge[:-1]} {word}".strip())
            chinese.append(f"{charge[:-1]}{wide}")
        elif part["state"]:
            shown.append(text)
            word, wide = _SUBSTANCE_STATES[text]
            english.append(word)
            chinese.append(wide)
        else:
            shown.append(text)
            if text.isalnum():
                english.append(" ".join(text) if part["element"] else text)
                chinese.append(text)
    return table.Words("".join(shown), " ".join(english), "".join(chinese))
