"""The phrases with which a user ends the conversation, by language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from vixio.core.language_tags import primary
from vixio.core.whole_phrases import WholePhrases


@dataclass(frozen=True, slots=True)
class Words:
    """``phrases`` that end a conversation, and ``fill``: what may stand around them."""

    phrases: tuple[str, ...]
    fill: tuple[str, ...]


EXIT_PHRASES: Final[Mapping[str, Words]] = {
    "en": Words(
        phrases=(
            *("goodbye", "good bye", "bye", "bye bye", "good night", "goodnight", "farewell"),
            *("see you", "see you later", "see you soon", "see you tomorrow", "talk to you later"),
            *("stop listening", "end the conversation", "end conversation", "go to sleep"),
            *("that's all", "that is all", "that'll be all", "that will be all"),
        ),
        fill=(
            *("please", "ok", "okay", "alright", "all right", "well", "good", "great"),
            *("thanks", "thank you", "thank you very much", "thanks a lot", "many thanks", "cool"),
            *("no", "yes", "yeah", "so", "then", "now", "and", "oh", "um", "uh", "hey", "just"),
            *("for now", "for today", "for the moment", "everyone", "my friend", "dear"),
        ),
    ),
    "zh": Words(
        phrases=(
            *("再见", "拜拜", "拜", "晚安", "回头见", "明天见", "下次见", "一会儿见", "回见"),
            *("不用听了", "别听了", "没事了", "没别的事了", "结束对话", "退出", "退下", "休息吧"),
            *("就这些", "bye", "byebye", "goodbye"),
        ),
        fill=(
            *("好", "好的", "好吧", "行", "嗯", "哦", "那", "那就", "谢谢", "谢谢你", "谢谢您"),
            *("多谢", "请", "吧", "啊", "呀", "啦", "了", "哈", "先", "你", "您", "今天", "暂时"),
        ),
    ),
    "de": Words(
        phrases=(
            *("tschüss", "tschüs", "tschüssi", "auf wiedersehen", "auf wiederhören", "ciao"),
            *("gute nacht", "bis bald", "bis später", "bis dann", "bis morgen", "mach's gut"),
            *("das ist alles", "das war's", "das wars", "das war alles", "das wäre alles"),
            *("hör auf zuzuhören", "nicht mehr zuhören", "gespräch beenden", "bye"),
        ),
        fill=(
            *("bitte", "danke", "danke schön", "dankeschön", "vielen dank", "ok", "okay", "gut"),
            *("alles klar", "super", "prima", "nein", "ja", "also", "dann", "na dann", "so", "und"),
            *("schön", "für heute", "erstmal", "erst mal", "jetzt", "auch"),
        ),
    ),
    "fr": Words(
        phrases=(
            *("au revoir", "bye", "bye bye", "ciao", "adieu", "bonne nuit", "à bientôt"),
            *("à plus tard", "à plus", "à tout à l'heure", "à demain", "à la prochaine"),
            *("c'est tout", "ce sera tout", "arrête d'écouter", "fin de conversation"),
        ),
        fill=(
            *("s'il te plaît", "s'il vous plaît", "merci", "merci beaucoup", "ok", "okay", "bon"),
            *("d'accord", "bien", "très bien", "parfait", "non", "oui", "alors", "et", "eh", "ben"),
            *("pour le moment", "pour l'instant", "pour aujourd'hui", "allez", "voilà"),
        ),
    ),
    "es": Words(
        phrases=(
            *("adiós", "adios", "chao", "chau", "hasta luego", "hasta mañana", "hasta pronto"),
            *("hasta la vista", "nos vemos", "eso es todo", "es todo"),
            *("deja de escuchar", "termina la conversación", "bye"),
        ),
        fill=(
            *("por favor", "gracias", "muchas gracias", "vale", "ok", "okay", "bien", "bueno"),
            *("muy bien", "perfecto", "no", "sí", "pues", "entonces", "y", "de acuerdo"),
            *("por ahora", "por hoy"),
        ),
    ),
    "it": Words(
        phrases=(
            *("arrivederci", "ciao ciao", "addio", "buonanotte", "buona notte"),
            *("a presto", "a dopo", "a domani", "ci vediamo", "ci sentiamo", "alla prossima"),
            *("è tutto", "questo è tutto", "basta così"),
            *("smetti di ascoltare", "chiudi la conversazione"),
        ),
        fill=(
            *("per favore", "grazie", "grazie mille", "molte grazie", "ok", "okay", "va bene"),
            *("bene", "perfetto", "no", "sì", "allora", "e", "dai", "beh"),
            *("per ora", "per oggi", "per adesso"),
        ),
    ),
    "pt": Words(
        phrases=(
            *("adeus", "tchau", "xau", "até logo", "até mais", "até amanhã", "até breve"),
            *("até já", "é tudo", "é só isso", "só isso", "isso é tudo"),
            *("para de ouvir", "pare de ouvir", "encerrar a conversa"),
        ),
        fill=(
            *(
                "por favor",
                "obrigado",
                "obrigada",
                "muito obrigado",
                "muito obrigada",
                "ok",
                "okay",
            ),
            *("valeu", "bom", "bem", "certo", "tá", "tá bom", "está bem", "não", "sim", "então"),
            *("e", "por agora", "por hoje", "por enquanto"),
        ),
    ),
    "ja": Words(
        phrases=(
            *("さようなら", "さよなら", "バイバイ", "ばいばい", "またね", "じゃあね", "じゃね"),
            *("またあとで", "また後で", "また明日", "おやすみ", "おやすみなさい", "お休みなさい"),
            *("以上です", "もういいです", "もう大丈夫", "もう大丈夫です", "終わり", "終了"),
        ),
        fill=(
            *("はい", "うん", "ええ", "じゃあ", "じゃ", "では", "それでは", "それじゃ", "もう"),
            *("ありがとう", "ありがとうございます", "ありがとうございました", "どうも", "オーケー"),
            *("ok", "わかった", "わかりました", "ね", "よ", "今日は", "とりあえず"),
        ),
    ),
    "ko": Words(
        phrases=(
            *("안녕히 계세요", "안녕히 가세요", "잘 있어", "잘 가", "바이", "바이바이", "잘 자"),
            *("안녕히 주무세요", "다음에 봐", "나중에 봐", "내일 봐", "또 봐", "그만 들어"),
            *("이제 됐어", "이제 됐어요", "그게 다야", "그게 다예요", "대화 종료", "대화 끝"),
        ),
        fill=(
            *("네", "응", "예", "그래", "그럼", "좋아", "좋아요", "알았어", "알겠어요", "오케이"),
            *("고마워", "고마워요", "감사합니다", "오늘은", "일단", "요", "이제"),
        ),
    ),
    "ru": Words(
        phrases=(
            *("до свидания", "пока", "пока пока", "прощай", "прощайте", "спокойной ночи"),
            *("до встречи", "до завтра", "до скорого", "увидимся", "это всё", "это все"),
            *("на этом всё", "на этом все", "вот и всё", "вот и все", "всё на сегодня"),
            *("хватит слушать", "перестань слушать", "закончим разговор"),
        ),
        fill=(
            *("пожалуйста", "спасибо", "большое спасибо", "спасибо большое", "ладно", "хорошо"),
            *("ок", "окей", "ну", "ну ладно", "нет", "да", "тогда", "и", "всё", "все", "отлично"),
            *("на сегодня", "пока что"),
        ),
    ),
}
"""Language (the first part of BCP 47) → its words.

None that may also be a greeting ("ciao", "buenas noches") or the answer to a question ("nothing
else"). What the phrase book takes for a goodbye is among them."""

_NONE: Final = Words((), ())


@lru_cache(256)
def exit_phrases(
    language: str, phrases: Sequence[str] | None = None, name: str = ""
) -> WholePhrases:
    """Return what ends a conversation in ``language`` (BCP 47).

    ``phrases`` (a tuple): in the place of those of the language; none: nothing does. ``name``: of
    the device, which the user may add.
    """
    words = EXIT_PHRASES.get(primary(language), _NONE)
    return WholePhrases(
        words.phrases if phrases is None else phrases, (*words.fill, name), language
    )
