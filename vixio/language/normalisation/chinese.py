"""Writes the numbers of a Chinese text as they are read.

Dates, times, percentages, fractions, temperatures, prices, ranges, ratios, units, versions,
addresses, codes and numbers of telephones have rules of their own; what is left is a quantity.
cn2an, which misaki uses, reads the number of a telephone as billions and leaves the point in
-3.5℃.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_DIGITS: Final = "零一二三四五六七八九"
_SMALL: Final = ("", "十", "百", "千")
_LARGE: Final = ("", "万", "亿", "万亿")
_LONGEST: Final = 16
"""Digits of a quantity; longer ones are read one by one."""

_N: Final = r"(?<![\d.])(-?\d+(?:\.\d+)?)"
_NUMBER: Final = re.compile(_N)
_MEASURES: Final = "个位只条张本件把块次天年遍杯瓶份种名台辆间层点小分秒周倍口步句首部双套元斤"
"""Before these, two is 两."""


def digits(text: str) -> str:
    """Return each digit by its name; what is no digit stays."""
    return "".join(_DIGITS[int(each)] if each.isdecimal() else each for each in text)


def telephone(text: str) -> str:
    """Return each digit by its name, one as 幺, which is not taken for 七."""
    return digits(text).replace("一", "幺")


def quantity(text: str) -> str:
    """Return a number such as -1204.50 in words: 负一千二百零四点五零."""
    sign = "负" if text.startswith("-") else ""
    whole, point, fraction = text.removeprefix("-").partition(".")
    return sign + _whole(whole) + (f"点{digits(fraction)}" if point else "")


def _whole(text: str) -> str:
    text = text.lstrip("0") or "0"
    if len(text) > _LONGEST:
        return digits(text)
    if text == "0":
        return _DIGITS[0]
    words, gap = "", False
    for place in reversed(range((len(text) + 3) // 4)):
        group = int(text[-4 * place - 4 : -4 * place or None])
        if not group:
            gap = bool(words)
            continue
        if words and (gap or group < 1000):
            words += _DIGITS[0]
        words += _group(group) + _LARGE[place]
        gap = False
    return words.removeprefix("一") if words.startswith("一十") else words


def _group(number: int) -> str:
    """Return a number below 10,000 in words."""
    words, gap = "", False
    for place in reversed(range(4)):
        digit = number // 10**place % 10
        if not digit:
            gap = bool(words)
            continue
        words += (_DIGITS[0] if gap else "") + _DIGITS[digit] + _SMALL[place]
        gap = False
    return words


def _time(match: re.Match[str]) -> str:
    hour, minute, second = (match[number] for number in (1, 2, 3))
    words = ("两" if int(hour) == 2 else quantity(hour)) + "点"
    if int(minute) or second:
        words += ("零" if minute.startswith("0") else "") + f"{quantity(str(int(minute)))}分"
    return words + (f"{quantity(str(int(second)))}秒" if second else "")


def _date(match: re.Match[str]) -> str:
    return f"{digits(match[1])}年{quantity(match[2])}月{quantity(match[3])}日"


def _temperature(match: re.Match[str]) -> str:
    below = "零下" if match[1].startswith("-") else ""
    unit = "华氏度" if match[2] in "℉F" else "摄氏度"
    return f"{below}{quantity(match[1].removeprefix('-'))}{unit}"


def _grouped(match: re.Match[str]) -> str:
    return quantity(match[0].replace(",", ""))


def _counted(match: re.Match[str]) -> str:
    text = match[1]
    if re.fullmatch(r"0\d+|\d{4,}(?!000)\d{3}", text):
        return digits(text)  # a code
    before, after = match.string[: match.start()], match.string[match.end() :]
    counted = after[:1] and after[0] in _MEASURES and not after.startswith("分之")
    if text == "2" and counted and not before.endswith("第"):
        return "两"
    return quantity(text)


def _measure(match: re.Match[str]) -> str:
    number, unit, per = match[1], match[2].replace("µ", "μ"), match[3]
    said = f"{quantity(number)}{_UNITS[unit]}"
    return f"每{_UNITS.get(per, per)}{said}" if per else said


def _dotted(match: re.Match[str]) -> str:
    """Return an address or a version: 192.168.1.20, 2.0.1."""
    parts = match[0].removeprefix("v").split(".")
    read = telephone if len(parts) == 4 else quantity
    return "点".join(map(read, parts))


def _host(match: re.Match[str]) -> str:
    return match[0].replace("@", "艾特").replace(".", "点")


_UNITS: Final[dict[str, str]] = {
    "km": "公里",
    "m": "米",
    "cm": "厘米",
    "mm": "毫米",
    "km²": "平方公里",
    "m²": "平方米",
    "㎡": "平方米",
    "m³": "立方米",
    "kg": "公斤",
    "g": "克",
    "mg": "毫克",
    "μg": "微克",
    "L": "升",
    "ml": "毫升",
    "mL": "毫升",
    "kW": "千瓦",
    "kWh": "千瓦时",
    "W": "瓦",
    "V": "伏",
    "mA": "毫安",
    "mAh": "毫安时",
    "GHz": "吉赫兹",
    "MHz": "兆赫兹",
    "kHz": "千赫兹",
    "Hz": "赫兹",
    "KB": "K",
    "MB": "兆",
    "GB": "G",
    "TB": "T",
    "dB": "分贝",
    "Mbps": "兆每秒",
    "ms": "毫秒",
    "h": "小时",
    "min": "分钟",
    "s": "秒",
}
_SIGNS: Final = {"+": "加", "=": "等于", "×": "乘", "÷": "除以"}
_MONEY: Final = {"¥": "元", "￥": "元", "$": "美元", "€": "欧元", "£": "英镑"}
_UNIT: Final = "|".join(sorted((*_UNITS, "µg"), key=len, reverse=True))
_PER: Final = "h|s|min|kg|L|m³|天|日|月|年|人|次"

# In this order: what looks like several kinds of number is read by the first that fits.
_RULES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (
        re.compile(
            r"(?<![\w.@-])(?:[\w.+-]{1,64}@)?[A-Za-z][\w-]{0,62}(?:\.[A-Za-z][\w-]{1,62}){1,4}",
            re.ASCII,
        ),
        _host,
    ),
    (re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?"), _grouped),
    (re.compile(r"(?<!\d)(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)"), _date),
    (re.compile(r"(?<!\d)(\d{4})(?=年)"), lambda m: digits(m[1])),
    (re.compile(r"(?<![\d.])v?\d{1,4}(?:\.\d{1,4}){2,3}(?![\d.])|\bv\d{1,4}\.\d{1,4}"), _dotted),
    (
        re.compile(r"(?<![\d-])(?:0\d{2,3}-\d{7,8}|[48]00-\d{3,4}-\d{3,4})(?![\d-])"),
        lambda m: telephone(m[0].replace("-", "")),
    ),
    (
        re.compile(r"(?<![\d.])1[3-9]\d{9}(?!\d)|(?<=[打拨电话线])1\d{2,4}(?!\d)"),
        lambda m: telephone(m[0]),
    ),
    (re.compile(r"#\s?(?=\d)"), lambda _: "第"),
    (re.compile(r"第(\d{1,16})(?![\d.])"), lambda m: f"第{quantity(m[1])}"),
    (re.compile(r"(?<!\d)(\d{1,2}(?!00)\d{2})(?=房间|房|室|路公交|路车)"), lambda m: digits(m[1])),
    (
        re.compile(r"((?:验证码|密码|编号|尾号|号码)[是为：: ]{0,2})(\d{3,12})(?!\d)"),
        lambda m: m[1] + digits(m[2]),
    ),
    (re.compile(r"(?<=[\d%％℃])\s*[-~～–—]\s*(?=\d)"), lambda _: "到"),
    (re.compile(r"(?<![\d:])([01]?\d|2[0-4])[:：]([0-5]\d)(?:[:：]([0-5]\d))?(?![\d:])"), _time),
    (
        re.compile(r"(?<![\d:：])(\d{1,4})[:：](\d{1,4})(?![\d:：])"),
        lambda m: f"{quantity(m[1])}比{quantity(m[2])}",
    ),
    (re.compile(_N + r"\s*(?:°\s*)?([℃℉]|(?<=°)[CF])"), _temperature),
    (re.compile(_N + r"\s*[%％]"), lambda m: f"百分之{quantity(m[1])}"),
    (re.compile(r"(?<![\d/])(\d{1,4})/(\d{1,4})(?![\d/])"), lambda m: f"{m[2]}分之{m[1]}"),
    (re.compile(r"([¥￥$€£])\s*(\d+(?:\.\d+)?)"), lambda m: f"{m[2]}{_MONEY[m[1]]}"),
    (re.compile(rf"{_N}\s*({_UNIT})(?:/({_PER}))?(?![A-Za-z/])"), _measure),
    (re.compile(r"(?<=\d)\s*([+=×÷])\s*(?=\d)"), lambda m: _SIGNS[m[1]]),
    (re.compile(r"(?<=[A-Za-z])-?(\d{3,})(?![\d.])"), lambda m: telephone(m[1])),
    (re.compile(r"(?<=[A-Za-z\d])-(?=[A-Za-z]{1,3}\d)|(?<=[A-Za-z])-(?=\d)"), lambda _: ""),
    (_NUMBER, _counted),
)


def spelled(text: str) -> str:
    """Return ``text`` with its numbers in words."""
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    return text
