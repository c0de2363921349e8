"""Whether a user's words say something whole, as far as the words alone show it.

A person who stops behind "and", "the", "um", "call" or in the middle of a number has more to say.
What is judged is the end of the words, and the few utterances that are nothing but a beginning.
That words are whole is never certain, so nothing is said of most of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from vixio.core.chunk import Completeness
from vixio.core.language_tags import primary
from vixio.core.whole_phrases import UNSPACED


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a language, those of one kind with spaces between them.

    ``last``: behind them more comes: connectors, articles, fillers. ``prepositions``: so do these,
    unless they end a question ("where are you from"). ``helping``: so do these verbs, unless they
    end a clause ("what time it is"). ``asking``, ``pronouns``: what such questions and clauses are
    made of. ``naming``: begins the name of a thing, which is no such question ("what is the time
    in"). ``numbers``: besides digits. ``closing``: behind them a number ends what is said ("to
    thirty"). ``whole``: utterances, or their ends without spaces, that look as if more came.
    ``begin``: utterances that only begin something, a regular expression a line; ``polite``: what
    may stand before them.
    """

    last: str = ""
    prepositions: str = ""
    helping: str = ""
    asking: str = ""
    pronouns: str = ""
    naming: str = ""
    numbers: str = ""
    closing: str = ""
    whole: str = ""
    begin: str = ""
    polite: str = ""


_WORDS: Final[Mapping[str, _Words]] = {
    "en": _Words(
        last="""
            and or but because if when while which who whose where although unless until than as
            the a an my your his its our their every be been um umm uh uhm er erm hm hmm called
            named i we let's what's where's who's there's i'm i'd i'll gonna
        """,
        prepositions="""
            to for with from of by about at in into onto between under during without
        """,
        helping="""
            is are was were am will would can could should shall must may might do does did has
            have had it's that's
        """,
        asking="what what's who who's where where's which how when why whose",
        pronouns="i you he she it we they that this there who what all",
        naming="the a an my your his her our their this",
        numbers="""
            zero oh one two three four five six seven eight nine ten eleven twelve thirteen
            fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty
            seventy eighty ninety hundred thousand million point double triple
        """,
        closing="""
            to past times plus minus by of and or at over channel level volume brightness
            temperature that this the which no
        """,
        begin=r"""
            (?:remind|wake|tell|show|give|play|add|put|write)(?: (?:me|us|up|down|something|it))*
            (?:call|text|email|note|translate)
            remind (?:me|us)(?: (?:today|tonight|tomorrow|later|again))?
            (?:make|set|start|create)(?: (?:me|up))*
            (?:make|set|start|create)(?: me)? (?:a|an|the|my|another) (?:timer|alarm|reminder|note)
            (?:set|make|change|turn) the (?:volume|brightness|temperature|lights?|colou?r)
            (?:send|write)(?: (?:a|an|the))? (?:message|text|email|mail)(?: to \w+)?
            (?:search|look|ask|change|convert|compare)(?: (?:up|for))?
            (?:turn|switch)(?: (?:on|off|up|down|to))?
            (?:i want|i'd like|i would like)(?: to(?: know| have| hear| see| ask)?)?
            (?:do you know|what about|how about|let me|excuse me|one more thing|so|well|then|like)
            how (?:long|much|many|far|old|often|big|tall|do i(?: get| make)?|do you(?: say)?)
            (?:what|who|where|when|why|which) (?:is|are|was|were|did|does|wrote|made|won)
            (?:can|could|would|will) (?:you|i|we)(?: please)?|please
        """,
        whole="come in|go in|get in|let me in|let him in|let her in",
        polite=r"(?:(?:please|now|hey|ok|okay|and|can you|could you|would you|will you) )*",
    ),
    "zh": _Words(
        last="""
            和 跟 与 以及 还有 然后 接着 而且 因为 所以 但是 可是 不过 如果 要是 假如 虽然 或者
            还是 把 被 给 在 从 向 往 为了 关于 一个 一首 我的 你的 我们的 嗯 呃 额 就是 就是说
            比如 比如说 叫做 请 请问 帮我 我想 我要 我想要 我想问 我想知道 提醒我 叫我 替我
            的时候 之后 以后 之前
        """,
        numbers="零 〇 一 二 三 四 五 六 七 八 九 十 百 千 万 两 幺",
        closing="""
            到 为 成 至 乘 乘以 加 加上 减 减去 除以 第 等于 百分之 星期 礼拜 周 唯 统 万 之
        """,
        whole="现在|这一个|那一个|哪一个|暖和|总和|还给|都给",
        begin=r"""
            (?:播放|放|放一首|唱|唱一首|打电话|发消息|发短信|搜索|搜一下|查一下)
            (?:翻译|翻译一下|记一下|记住|记录|设置|设|设定|打开|关闭|关掉|调到)
            (?:添加|讲|讲一个|这个|那个|那)
            (?:设置?|定|设定|开)(?:一?个)?(?:闹钟|闹铃|定时|定时器|计时器|提醒)
            (?:把)?(?:音量|亮度|温度|灯光|颜色)(?:调|设|调到|设为|设成|调成|改成)?
            (?:明天|今天|后天|晚上|早上|下午)(?:早上|上午|中午|下午|晚上)?
            (?:打给|发给|给)\w{1,4}(?:打电话|发消息|发短信|发微信)?
        """,
        polite=r"(?:请|麻烦|帮我|给我|你)*",
    ),
    "de": _Words(
        last="""
            und oder aber weil denn dass wenn ob falls sondern obwohl der die den dem des ein
            eine einen einem einer mein meine meinen meinem meiner dein deine deinen deinem
            unser unsere ihre seine für von bei im am zum zur ins vom ohne gegen zwischen äh ähm
            hm namens ich wir
        """,
        numbers="""
            null eins ein zwei zwo drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig
            dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend komma
        """,
        closing="auf mal plus minus durch um und lautstärke helligkeit",
        begin=r"""
            (?:erinnere?|wecke?|sage?|zeige?|gib|rufe?|spiele?)(?: (?:mich|mir|uns|etwas|bitte))*
            (?:schreibe?|notiere?|übersetze?)
            (?:stelle?|mache?|setze?)(?: (?:mir|bitte))*
            (?:stelle?|mache?|setze?)(?: (?:mir|bitte))* (?:einen|den|die|das|eine)(?: \w+)?
            ich (?:möchte|will|würde gerne?|hätte gerne?)(?: wissen)?
            (?:wie (?:lange|viel|viele|oft|weit|alt)|weißt du|was ist mit|also)
            (?:kannst|könntest|würdest) du(?: (?:mir|mich|bitte))*
            (?:meine|die|der|das) \w+ (?:ist|lautet)
        """,
        polite=r"(?:bitte )?",
    ),
    "fr": _Words(
        last="""
            et ou mais parce que lorsque donc car puis le la les l' un une des du de d' au aux
            mon ma mes ton ta tes son sa ses notre votre leur ce cet cette ces à dans sur pour
            avec sans par chez vers très euh heu hum ben je j' comme
        """,
        numbers="""
            zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze
            quinze seize vingt trente quarante cinquante soixante cent mille virgule
        """,
        closing="à fois plus moins par et",
        begin=r"""
            (?:rappelle|réveille|dis|montre|donne|joue|mets)(?:[- ]moi)?
            (?:appelle|ajoute|écris|note|traduis)
            (?:mets|lance|crée)(?:[- ]moi)? (?:un|une|le|la) (?:minuteur|alarme|réveil|rappel)
            règle (?:le|la) (?:volume|luminosité|réveil|minuteur)
            (?:je voudrais|j'aimerais|je veux)(?: savoir)?
            (?:combien(?: de temps)?|est-ce que|qu'est-ce que|peux-tu|tu peux|pourrais-tu|alors)
        """,
    ),
    "es": _Words(
        last="""
            y e o u pero porque que si mientras aunque el la los las un una unos unas del de al
            mi mis tu tus su sus nuestro nuestra a en con sin por para sobre entre hasta desde
            muy eh em pues me nos como
        """,
        numbers="""
            cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce
            quince veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien mil
            coma
        """,
        closing="a al las la por más menos y",
        whole="para|entre",
        begin=r"""
            (?:recuérdame|despiértame|dime|muéstrame|dame)
            (?:llama|pon|ponme|toca|añade|escribe|anota|traduce)
            (?:pon|ponme|crea|sube|baja) (?:un|una|el|la) (?:temporizador|alarma|recordatorio)
            (?:quisiera|me gustaría|quiero)(?: saber)?
            (?:cuánto|cuántos|cuánto tiempo|puedes|podrías|sabes)
        """,
        polite=r"(?:por favor )?",
    ),
    "it": _Words(
        last="""
            e ed o ma che se mentre il lo la i gli le un uno una del dello della dei di al allo
            alla ai a in nel nella con senza per sul sulla tra fra da dal dalla mio mia tuo tua
            suo sua eh ehm mi
        """,
        numbers="""
            zero uno due tre quattro cinque sei sette otto nove dieci undici dodici venti trenta
            quaranta cinquanta sessanta settanta ottanta novanta cento mille virgola
        """,
        closing="a al alle per più meno e",
        begin=r"""
            (?:ricordami|svegliami|dimmi|mostrami|dammi)
            (?:chiama|metti|suona|aggiungi|scrivi|annota|traduci)
            (?:imposta|metti|crea) (?:un|una|il|la) (?:timer|sveglia|promemoria|volume|luminosità)
            (?:vorrei|mi piacerebbe|voglio)(?: sapere)?
            (?:quanto|quanti|quanto tempo|puoi|potresti|sai|allora)
        """,
    ),
    "pt": _Words(
        last="""
            e ou mas porque que se enquanto embora o a os as um uma uns umas do da dos das de no
            na nos nas em ao à com sem por para sobre entre até desde meu minha teu tua seu sua
            eh hum me
        """,
        numbers="""
            zero um dois três quatro cinco seis sete oito nove dez onze doze vinte trinta
            quarenta cinquenta sessenta setenta oitenta noventa cem mil vírgula
        """,
        closing="para às por mais menos e",
        whole="para|entre|o que|por que",
        begin=r"""
            (?:lembra-me|lembre-me|me lembre|acorda-me|me acorde|diz-me|me diga)
            (?:mostra|liga para|toca|põe|coloca|adiciona|escreve|anota|traduz)
            (?:põe|coloque|cria) (?:um|uma|o|a) (?:temporizador|alarme|lembrete|volume|brilho)
            (?:gostaria|eu gostaria|queria|quero)(?: de saber| saber)?
            (?:quanto|quantos|quanto tempo|podes|pode|você pode|sabes|então)
        """,
    ),
    "ja": _Words(
        last="""
            を へ に それから そして でも だから もし えっと えーと ええと あのー とか について
        """,
        numbers="零 〇 一 二 三 四 五 六 七 八 九 十 百 千 万",
        closing="第",
        whole="なに|何に|本当に|ほんとに|どこに|そんなに|こんなに",
        begin=r"""
            (?:教えて欲しいんだけど|お願いなんだけど|あのさ|ねえ|すみません|あの|うーん)
        """,
    ),
    "ko": _Words(
        last="그리고 그래서 그런데 하지만 만약 을 를 에서 으로 에게 한테 하고 까지 부터",
        numbers="영 공 일 이 삼 사 오 육 칠 팔 구 십 백 천 만",
        begin=r"""
            (?:있잖아|저기요|혹시|음|어|저|그)
        """,
    ),
    "ru": _Words(
        last="""
            и или но а чтобы если пока хотя который в во с со к ко у о об от до из за под над
            для без при про через между мой моя моё мои твой твоя наш ваш этот эта ну э эм хм не
            на
        """,
        numbers="""
            ноль один два три четыре пять шесть семь восемь девять десять двадцать тридцать
            сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто сто тысяча запятая
        """,
        closing="до на плюс минус в",
        begin=r"""
            (?:напомни|разбуди|скажи|покажи|дай|позвони)(?: (?:мне|меня))?
            (?:включи|добавь|запиши|переведи|поставь)
            (?:поставь|установи|сделай) (?:таймер|будильник|напоминание|громкость|яркость)
            (?:я )?(?:хочу|хотел бы|хотела бы)(?: узнать| знать)?
            (?:сколько|как долго|можешь|ты знаешь|потому что)
        """,
        polite=r"(?:пожалуйста )?",
    ),
}
"""Language (the first part of BCP 47) → its words. Not among ``last``: words that often end a
sentence as well, such as "on", "off" and "it", "的" and "了", and the prefixes of German verbs."""

_GOES_ON: Final = re.compile(r"(?:\.{2,}|…|[,;:，、；：\-–—~])$")
"""What recognisers put behind words that go on."""

_WHOLE_NUMBER: Final = 7
"""Digits from which a number may be that of a telephone, as a whole."""


@lru_cache(256)
def completeness(text: str, language: str = "") -> Completeness | None:
    """Return INCOMPLETE if the words show that more is to come; None if they do not show it.

    ``language``: BCP 47; for one without a list, that of English counts. The script of ``text``
    counts for more. Quick, and remembered for the latest texts.
    """
    text = text.strip()
    folded = unicodedata.normalize("NFKC", text.replace("’", "'")).casefold()
    if not folded:
        return None
    if _GOES_ON.search(text) or _list_of(_language(folded, language)).goes_on(folded):
        return Completeness.INCOMPLETE
    return None


def _language(text: str, language: str) -> str:
    code = {"yue": "zh"}.get(primary(language), primary(language))
    if any("\u3040" <= each <= "\u30ff" for each in text):
        return "ja"
    if any("\uac00" <= each <= "\ud7af" for each in text):
        return "ko"
    if any("\u4e00" <= each <= "\u9fff" for each in text):
        return "ja" if code == "ja" else "zh"
    return "en" if code in UNSPACED or code not in _WORDS else code


class _List:
    """The words of one language, prepared."""

    def __init__(self, words: _Words, *, spaced: bool) -> None:
        self._spaced = spaced
        self._last = frozenset(words.last.split())
        self._prepositions = frozenset(words.prepositions.split())
        self._helping = frozenset(words.helping.split())
        self._asking = frozenset(words.asking.split())
        self._pronouns = frozenset(words.pronouns.split())
        self._naming = frozenset(words.naming.split())
        self._numbers = frozenset(words.numbers.split())
        self._closing = frozenset(words.closing.split())
        self._whole = tuple(words.whole.split("|")) if words.whole else ()
        begin = "|".join(line.strip() for line in words.begin.strip().splitlines())
        self._begin = re.compile(f"{words.polite}(?:{begin})")

    def goes_on(self, text: str) -> bool:
        """Whether more is to come. ``text``: folded, and not empty."""
        if not self._spaced:
            return self._unspaced_goes_on(re.sub(r"[\W_]+", "", text))
        words = re.findall(r"[\w'-]+", text)
        if not words or " ".join(words) in self._whole:
            return False
        if self._begin.fullmatch(" ".join(words)):
            return True
        if self._is_number(words[-1]):
            return self._number_goes_on(words)
        *before, last = words
        if last in self._helping:
            ends = bool(self._asking.intersection(before)) or (
                bool(before) and before[-1] in self._pronouns
            )
            return bool(before) and not ends
        if last in self._prepositions:
            return not self._asks(before)
        return last in self._last

    def _asks(self, words: list[str]) -> bool:
        """Whether the words are a question that a preposition may end."""
        places = [at for at, word in enumerate(words) if word in self._asking]
        return bool(places) and not self._naming.intersection(words[places[-1] + 1 :])

    def _is_number(self, word: str) -> bool:
        return all(part.isdigit() or part in self._numbers for part in word.split("-"))

    def _number_goes_on(self, words: list[str]) -> bool:
        """Whether the number at the end may go on: it does not stand where a value ends."""
        before = len(words)
        while before and (self._is_number(words[before - 1]) or words[before - 1] in self._naming):
            before -= 1
        if sum(map(str.isdigit, "".join(words[before:]))) >= _WHOLE_NUMBER:
            return False
        return not before or words[before - 1].split("-")[-1] not in self._closing

    def _unspaced_goes_on(self, text: str) -> bool:
        if not text or text.endswith(self._whole):
            return False
        if self._begin.fullmatch(text):
            return True
        before = text.rstrip("0123456789" + "".join(self._numbers))
        if before != text:
            return not before.endswith(tuple(self._closing))
        return text.endswith(tuple(self._last))


@lru_cache(16)
def _list_of(code: str) -> _List:
    return _List(_WORDS[code], spaced=code not in UNSPACED)
