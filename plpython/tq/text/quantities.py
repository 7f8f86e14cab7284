"""Quantities in a text: value, unit and place, so that "six weeks" and "42 days" can be compared.

Numbers are Decimals and never floats: a quantity is compared as it is written, nothing is rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from tq.text.stopwords import word_set
from tq.text.tokens import normal_number


@dataclass(frozen=True, slots=True)
class Quantity:
    """One quantity of a text.

    kind: "number", "date" or "time". value: the number in ``unit`` (None for dates); high: the upper end of a range.
    unit: canonical name ("hour", "percent", "USD"), "count:<noun>" for things counted, "" for a bare number.
    date: "2024-03-12", "2024-03", "2024", "--03-12", or as written where day and month cannot be told apart.
    number: the number as it is written. start, end: offsets in the text.
    """

    kind: str
    value: Decimal | None
    unit: str
    start: int
    end: int
    number: str
    high: Decimal | None = None
    date: str = ""

    @property
    def dimension(self) -> str:
        """What can be compared: quantities of the same dimension measure the same kind of thing."""
        if self.kind != "number":
            return self.kind
        return _FACTORS.get(self.unit, (self.unit, Decimal(1)))[0]


# unit → (dimension, factor to the dimension's base). Months and years are a dimension of their own: a month has no
# fixed number of days, and reading one as 30 would invent a fact.
_FACTORS: dict[str, tuple[str, Decimal]] = {
    "second": ("time", Decimal(1)),
    "minute": ("time", Decimal(60)),
    "hour": ("time", Decimal(3600)),
    "day": ("time", Decimal(86400)),
    "week": ("time", Decimal(604800)),
    "month": ("months", Decimal(1)),
    "quarter": ("months", Decimal(3)),
    "year": ("months", Decimal(12)),
    "decade": ("months", Decimal(120)),
    "century": ("months", Decimal(1200)),
    "millisecond": ("time", Decimal("0.001")),
    "business day": ("business days", Decimal(1)),
    "mm": ("length", Decimal("0.001")),
    "cm": ("length", Decimal("0.01")),
    "m": ("length", Decimal(1)),
    "km": ("length", Decimal(1000)),
    "inch": ("length", Decimal("0.0254")),
    "foot": ("length", Decimal("0.3048")),
    "yard": ("length", Decimal("0.9144")),
    "mile": ("length", Decimal("1609.344")),
    "mg": ("weight", Decimal("0.001")),
    "g": ("weight", Decimal(1)),
    "kg": ("weight", Decimal(1000)),
    "tonne": ("weight", Decimal(1_000_000)),
    "ounce": ("weight", Decimal("28.349523125")),
    "pound": ("weight", Decimal("453.59237")),
    "ml": ("volume", Decimal("0.001")),
    "litre": ("volume", Decimal(1)),
    "percent": ("percent", Decimal(1)),
    "basis point": ("percent", Decimal("0.01")),
    "byte": ("bytes", Decimal(1)),
    "kB": ("bytes", Decimal(1000)),
    "MB": ("bytes", Decimal(1_000_000)),
    "GB": ("bytes", Decimal(1_000_000_000)),
    "TB": ("bytes", Decimal(1_000_000_000_000)),
}

_UNIT_WORDS: dict[str, str] = {}
for _canonical, _names in {
    "second": "second seconds sec secs sekunde sekunden seconde secondes segundo segundos 秒",
    "minute": "minute minutes min mins minuten minuto minutos 分钟",
    "hour": "hour hours hr hrs h stunde stunden std heure heures hora horas ora ore uur 小时 час часа часов ساعة ساعات घंटे",
    "day": "day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen 天 日 день дня дней يوم أيام दिन",
    "week": "week weeks wk wks woche wochen semaine semaines semana semanas "
    "settimana settimane weken 周 星期 неделя недели недель أسبوع أسابيع",
    "month": "month months mo mos monat monate monaten mois mes meses mês "
    "mese mesi maand maanden 个月 月 месяц месяца месяцев شهر أشهر",
    "quarter": "quarters quartal quartale",
    "year": "year years yr yrs jahr jahre jahren an ans année années año años ano anos anno anni jaar 年 год года лет سنة سنوات "
    "साल वर्ष",
    "decade": "decade decades jahrzehnt jahrzehnte",
    "century": "century centuries jahrhundert jahrhunderte",
    "millisecond": "millisecond milliseconds ms",
    "mm": "mm millimetre millimetres millimeter millimeters",
    "cm": "cm centimetre centimetres centimeter centimeters zentimeter",
    "m": "m metre metres meter meters metern 米",
    "km": "km kilometre kilometres kilometer kilometers kilometern 公里",
    "inch": "inch inches zoll",
    "foot": "foot feet ft",
    "yard": "yard yards",
    "mile": "mile miles meile meilen",
    "mg": "mg milligram milligrams milligramm",
    "g": "g gram grams gramme grammes gramm",
    "kg": "kg kilogram kilograms kilo kilos kilogramm 公斤",
    "tonne": "tonne tonnes tonnen",
    "ton": "ton tons",
    "ounce": "ounce ounces oz",
    "pound": "lb lbs pound",
    "ml": "ml millilitre millilitres milliliter milliliters",
    "litre": "l litre litres liter liters",
    "percent": "% percent percentage prozent pct ％ процент процента процентов بالمئة पर्सेंट",
    "basis point": "bp bps",
    "byte": "byte bytes",
    "kB": "kb kilobyte kilobytes",
    "MB": "mb megabyte megabytes",
    "GB": "gb gigabyte gigabytes",
    "TB": "tb terabyte terabytes",
    "USD": "usd dollar dollars 美元",
    "EUR": "eur euro euros €",
    "GBP": "gbp pounds £",
    "CHF": "chf franken",
    "JPY": "jpy yen ¥ 日元",
    "CNY": "cny rmb yuan 元",
    "INR": "inr rupee rupees रुपये",
    "cent": "cent cents ¢",
    "celsius": "°c celsius",
    "fahrenheit": "°f fahrenheit",
    "degree": "° degree degrees grad",
    "time": "times mal",
}.items():
    for _name in _names.split():
        _UNIT_WORDS[_name] = _canonical
_UNIT_PAIRS = {
    ("per", "cent"): "percent",
    ("per", "centum"): "percent",
    ("percentage", "points"): "percentage point",
    ("percentage", "point"): "percentage point",
    ("basis", "points"): "basis point",
    ("basis", "point"): "basis point",
    ("business", "days"): "business day",
    ("business", "day"): "business day",
    ("working", "days"): "business day",
    ("working", "day"): "business day",
    ("calendar", "days"): "day",
    ("calendar", "day"): "day",
    ("calendar", "months"): "month",
    ("calendar", "year"): "year",
    ("consecutive", "days"): "day",
    ("consecutive", "months"): "month",
}
_CURRENCY = {
    "$": "USD",
    "us$": "USD",
    "usd": "USD",
    "€": "EUR",
    "eur": "EUR",
    "£": "GBP",
    "gbp": "GBP",
    "¥": "JPY",
    "￥": "CNY",
    "rmb": "CNY",
    "chf": "CHF",
    "₹": "INR",
    "rs": "INR",
    "c$": "CAD",
    "a$": "AUD",
    "hk$": "HKD",
}

_ONES = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORD_VALUES: dict[str, int] = {word: index + 1 for index, word in enumerate(_ONES)}
_WORD_VALUES |= {word: 20 + 10 * index for index, word in enumerate(_TENS)}
_WORD_VALUES |= {"zero": 0, "dozen": 12, "couple": 2}
_DE_ONES = [
    "eins",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwölf",
    "dreizehn",
    "vierzehn",
    "fünfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
]
_DE_TENS = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
_WORD_VALUES |= {word: index + 1 for index, word in enumerate(_DE_ONES)}
_WORD_VALUES |= {word: 20 + 10 * index for index, word in enumerate(_DE_TENS)}
_WORD_VALUES |= {
    ("ein" if one == "eins" else one) + "und" + ten: 20 + 10 * index + unit + 1
    for index, ten in enumerate(_DE_TENS)
    for unit, one in enumerate(_DE_ONES[:9])
}
_WORD_VALUES |= {"dutzend": 12}
# Number words of further languages, read only with a unit behind them: many of them mean something else, too.
_SHY_VALUES = {
    word: number
    for names in (
        "deux trois quatre cinq - sept huit neuf dix onze douze",
        "dos tres cuatro cinco seis siete ocho nueve diez - doce",
        "due tre quattro cinque sei sette otto nove dieci undici dodici",
        "dois três quatro cinco seis sete oito nove dez onze doze",
        "twee drie vier vijf zes zeven acht negen tien elf twaalf",
    )
    for number, word in enumerate(names.split(), 2)
    if word != "-" and word not in _WORD_VALUES
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12} | {
    "hundert": 100,
    "tausend": 1000,
    "millionen": 10**6,
    "milliarde": 10**9,
    "milliarden": 10**9,
    "millions": 10**6,
    "billions": 10**9,
    "mio": 10**6,
    "mrd": 10**9,
    "万": 10**4,
    "亿": 10**8,
    "百万": 10**6,
}
_SHORT_SCALES = {"k": 1000, "m": 10**6, "mm": 10**6, "mn": 10**6, "bn": 10**9, "b": 10**9}

_MONTHS: dict[str, int] = {}
for _i, _names in enumerate(
    [
        "january jan januar janvier enero",
        "february feb februar février febrero",
        "march mar märz mars marzo",
        "april apr avril abril",
        "may mai mayo",
        "june jun juni juin junio",
        "july jul juli juillet julio",
        "august aug août agosto",
        "september sep sept septembre septiembre",
        "october oct oktober okt octobre octubre",
        "november nov novembre noviembre",
        "december dec dezember dez décembre diciembre",
    ]
):
    for _name in _names.split():
        _MONTHS[_name] = _i + 1
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))

_DATE = re.compile(
    rf"(?<![\w.,/-])(?:"
    rf"(?P<iso>\d{{4}}-\d{{2}}(?:-\d{{2}})?)(?![\w-])|"
    rf"(?P<d1>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:day\s+of\s+|of\s+|de\s+)?(?P<m1>{_MONTH})\b\.?(?:,?\s+(?:de\s+)?(?P<y1>\d{{4}})\b)?|"
    rf"(?P<m2>{_MONTH})\b\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\w%]|[.,]\d)(?:,?\s+(?P<y2>\d{{4}})\b)?|"
    rf"(?P<m3>{_MONTH})\b\.?,?\s+(?P<y3>(?:1[5-9]|20)\d{{2}})\b|"
    rf"(?P<slash>\d{{1,2}}/\d{{1,2}}/\d{{2,4}})(?![\w/])|"
    rf"(?P<dots>\d{{1,2}}\.\d{{1,2}}\.\d{{2,4}})(?![\w.])|"
    rf"(?P<zh>\d{{4}}年(?:\d{{1,2}}月(?:\d{{1,2}}日)?)?)"
    rf")",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_PARTS = {
    "half": Decimal(50),
    "quarter": Decimal(25),
    "three quarters": Decimal(75),
    "die hälfte": Decimal(50),
} | {
    "third": Decimal(100) / 3,
    "two thirds": Decimal(200) / 3,
}
_PART = re.compile(
    r"\b(?:a |one )?(half|two thirds|three quarters|(?<=\ba )(?:third|quarter)|(?<=\bone )(?:third|quarter)|die hälfte)"
    r"(?= (?:of|der|des) )",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"(?<![\w:.,])(?:(?P<h>\d{1,2}):(?P<m>\d{2})(?::\d{2})?\s*(?P<half>[ap]\.?m\b\.?)?|(?P<h2>\d{1,2})\s*(?P<half2>[ap]\.?m\b\.?))"
    r"(?![\w:])",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?P<cur>(?:US|C|A|HK)?\$|[€£¥￥₹]|\b(?:USD|EUR|GBP|CHF|RMB|Rs)\b\.?)?\s?"
    # Where words are not parted by spaces, a number follows a character of another kind than its own.
    r"(?P<num>(?:(?<![\w.,])|(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]))[-−–+]?(?:\d{1,3}(?:[,'’]\d{2,3})+(?:\.\d+)?|\d{1,3}(?:[\u00a0\u202f]\d{3})+(?:[.,]\d+)?"
    r"|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:[.,]\d+)?|\.\d+))"
    r"|(?P<word>[^\W\d_]+)"
)
_AFTER = re.compile(r"\)?[\s\u00a0-]{0,3}(%|％|°[CF]?|[€£¥¢₹]|[^\W\d_]+)")
_SECOND = re.compile(r"[\s-]{1,3}([^\W\d_]+)")
_RANGE = re.compile(r"\s?(?:-|–|—|to|bis|and|à|до)\s?", re.IGNORECASE)
_SCALE = re.compile(r"[\s\u00a0-]?([^\W\d_]+)")
_HALF = re.compile(r"half\s+an?\s+(?=\w)", re.IGNORECASE)
_NO_NOUN = word_set(
    "the a an of and or in on at to for from by with as is are was were be been has have had will shall may "
    "can if than that which who per each this these those it its not no but so per more less other others "
    "such out und oder der die das von im am für mit ist sind war i ii iii"
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d{2}")
SHORT = 2_000
"""Characters of a text whose quantities are remembered."""
MAX_TEXT = 200_000
"""Characters read by :func:`quantities`; callers give sentences and lines, so this only bounds a hostile one."""


# Numerals of Chinese and Japanese, where a unit follows: elsewhere their characters are parts of words.
_DENSE_DIGITS = {char: place for place, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_DENSE_SCALES = {"十": 10, "百": 100, "千": 1000}
_DENSE_NUMBER = re.compile(
    "(?<![第零〇一二两三四五六七八九十百千万])[零〇一二两三四五六七八九十百千万]+"
    "(?=个?(?:小时|分钟|星期|天|日|周|年|秒|岁|元|人|次|份|米|公里|公斤|％|%)|个月)"
)


def _dense_number(written: str) -> Decimal:
    total, section, digit = 0, 0, 0
    for char in written:
        if char in _DENSE_DIGITS:
            digit = _DENSE_DIGITS[char]
        elif char == "万":
            total, section, digit = (total + section + digit) * 10_000, 0, 0
        else:
            section += (digit or 1) * _DENSE_SCALES[char]
            digit = 0
    return Decimal(total + section + digit)


@dataclass(slots=True)
class _Raw:
    value: Decimal
    number: str
    currency: str
    start: int
    end: int


def _decimal(written: str) -> Decimal | None:
    plain = written.replace("’", "'").replace("'", ",").replace("\u00a0", "").replace("\u202f", "")
    sign = "-" if plain[:1] in "-−–" else ""
    plain = plain.lstrip("-−–+")
    if plain.startswith("."):
        plain = "0" + plain
    normal = normal_number(plain)
    return Decimal(sign + normal) if normal is not None else None


def _word_number(tokens: list[re.Match[str]], at: int, text: str) -> tuple[Decimal, int] | None:
    """Value of the number words that start at token ``at``, and the index behind the last of them."""
    total, current, used, index = 0, 0, 0, at
    last = at
    scaled = False
    while index < len(tokens):
        word = (tokens[index]["word"] or "").casefold()
        if index > at:
            gap = text[tokens[index - 1].end() : tokens[index].start()]
            if gap.strip(" \u00a0-") or len(gap) > 2:
                break
        if word in _WORD_VALUES:
            value = _WORD_VALUES[word]
            # "twenty four" adds up; "five six" are two numbers.
            if current % 100 and not (20 <= current % 100 <= 90 and current % 10 == 0 and value < 10):
                if word == "dozen":
                    current *= value
                    last = index + 1
                break
            current += value
        elif word in _SCALES and len(word) > 3 and (used or word in ("hundred", "thousand", "million")):
            if not used:
                return None
            scale = _SCALES[word]
            if scale == 100:
                current *= 100
            else:
                total, current = total + max(current, 1) * scale, 0
            scaled = True
        elif word == "and" and scaled and index + 1 < len(tokens):
            if (tokens[index + 1]["word"] or "").casefold() not in _WORD_VALUES:
                break
            index += 1
            continue
        else:
            break
        used += 1
        last = index + 1
        index += 1
    return (Decimal(total + current), last) if used else None


def _unit(text: str, end: int, currency: str) -> tuple[str, int]:
    """Canonical unit behind a number that ends at ``end``, and where the unit's word ends."""
    match = _AFTER.match(text, end)
    if match is None:
        return "", end
    word = match[1].casefold()
    second = _SECOND.match(text, match.end())
    if second is not None and (pair := _UNIT_PAIRS.get((word, second[1].casefold()))):
        return pair, second.end()
    if word in _UNIT_WORDS:
        if len(word) == 1 and word.isalpha() and match[1].isupper():
            return "", end
        if word in ("second", "an", "ans", "std", "mal", "mes") and not match[1].islower():
            return "", end
        return _UNIT_WORDS[word], match.end()
    if currency or word in _NO_NOUN or len(word) < 3:
        # Chinese glues the unit to what follows: 24小时内.
        for size in (2, 1):
            if word[:size] in _UNIT_WORDS and not word[:1].isascii():
                return _UNIT_WORDS[word[:size]], match.start(1) + size
        return "", end
    for size in (2, 1):
        if not word[0].isascii() and ord(word[0]) > 0x2E80 and word[:size] in _UNIT_WORDS:
            return _UNIT_WORDS[word[:size]], match.start(1) + size
    return "count:" + _singular(word), match.end()


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _dates(text: str) -> Iterator[Quantity]:
    """Dates, times of day, and parts of a whole, which are percents in words."""
    for match in _DATE.finditer(text) if _DIGIT.search(text) else ():
        g = match.groupdict()
        if g["iso"]:
            date = g["iso"]
        elif g["slash"] or g["dots"]:
            date = _numeric_date(g["slash"] or g["dots"])
        elif g["zh"]:
            parts = re.findall(r"\d+", g["zh"])
            date = "-".join([parts[0], *(part.zfill(2) for part in parts[1:])])
        elif g["m3"]:
            date = f"{g['y3']}-{_MONTHS[g['m3'].casefold()]:02}"
        else:
            day, month, year = g["d1"] or g["d2"], g["m1"] or g["m2"], g["y1"] or g["y2"]
            if not 1 <= int(day) <= 31 or (
                not year
                and month.islower()
                and month.casefold() in ("may", "mar", "mars", "sep", "dec", "an")
            ):
                continue
            date = f"{year or '-'}-{_MONTHS[month.casefold()]:02}-{int(day):02}"
        yield Quantity("date", None, "date", match.start(), match.end(), match[0], date=date)
    for match in _PART.finditer(text):
        yield Quantity(
            "number",
            _PARTS[match[1].casefold()],
            "percent",
            match.start(),
            match.end(1),
            text[match.start() : match.end(1)],
        )
    for match in _CLOCK.finditer(text) if _DIGIT.search(text) else ():
        hour = int(match["h"] or match["h2"])
        half = (match["half"] or match["half2"] or "").casefold().replace(".", "")
        if hour > 24 or (half and hour > 12):
            continue
        if half:
            hour = hour % 12 + (12 if half == "pm" else 0)
        yield Quantity(
            "time", None, "time", match.start(), match.end(), match[0], date=f"{hour:02}:{match['m'] or '00'}"
        )


def _numeric_date(written: str) -> str:
    """ISO form where day and month are certain (one is above 12, or dots, which are day first), else as written."""
    first, second, year = re.split(r"[/.]", written)
    if len(year) == 3:
        return written
    if len(year) == 2:
        year = ("20" if int(year) < 50 else "19") + year
    a, b = int(first), int(second)
    if "." in written or a > 12:
        day, month = a, b
    elif b > 12 or a == b:
        day, month = b, a
    else:
        return written
    return f"{year}-{month:02}-{day:02}" if 1 <= month <= 12 and 1 <= day <= 31 else written


def quantities(text: str) -> list[Quantity]:
    """All quantities of a text in order of place, none overlapping another. Never raises."""
    # One claim is looked at from several sides: checked, compared, merged.
    return list(_short(text)) if len(text) <= SHORT else _quantities(text[:MAX_TEXT])


@lru_cache(maxsize=4_096)
def _short(text: str) -> tuple[Quantity, ...]:
    return tuple(_quantities(text))


def _quantities(text: str) -> list[Quantity]:
    found = []
    taken_until = -1
    for date in sorted(_dates(text), key=lambda q: (q.start, -q.end)):
        if date.start >= taken_until:
            found.append(date)
            taken_until = date.end
    busy = [(q.start, q.end) for q in found]
    raws = _raw_numbers(text, busy)
    index = 0
    while index < len(raws):
        raw = raws[index]
        index += 1
        if (
            index < len(raws)
            and raws[index].value == raw.value
            and text[raw.end : raws[index].start] in (" (", "(")
        ):
            # "thirty (30) days" is one quantity, written twice.
            twin = raws[index]
            raw = _Raw(
                raw.value, text[raw.start : twin.end], raw.currency or twin.currency, raw.start, twin.end
            )
            index += 1
        unit, end = _unit(text, raw.end, raw.currency)
        low, high, number = raw.value, None, raw.number
        if raw.currency:
            unit = raw.currency
            end = raw.end
        # "10 to 15 days", "between 2 and 4 weeks": one quantity with two ends.
        if index < len(raws) and (not unit or not unit.startswith("count:")):
            follower = raws[index]
            gap = text[end : follower.start]
            joined = _RANGE.fullmatch(gap)
            if joined and (
                "and" not in gap or re.search(r"between\s*$", text[max(0, raw.start - 9) : raw.start], re.I)
            ):
                unit2, end2 = _unit(text, follower.end, follower.currency)
                unit2 = follower.currency or unit2
                if (not unit or unit == unit2) and follower.value >= raw.value and (unit2 or not unit):
                    high, unit, end = follower.value, unit2, end2 if not follower.currency else follower.end
                    number = text[raw.start : follower.end]
                    index += 1
        if not unit and not high and _YEAR.fullmatch(raw.number):
            found.append(Quantity("date", None, "date", raw.start, raw.end, raw.number, date=raw.number))
            continue
        if unit.startswith("count:") and _YEAR.fullmatch(raw.number):
            found.append(Quantity("date", None, "date", raw.start, raw.end, raw.number, date=raw.number))
            continue
        found.append(Quantity("number", low, unit, raw.start, max(end, raw.end), number, high))
    found.sort(key=lambda q: q.start)
    return _joined(found, text)


_JOIN = re.compile(r",? (?:and |und |et |y )?|,? ?(?:and|und|et|y) ")


def _joined(found: list[Quantity], text: str) -> list[Quantity]:
    """Quantities in order, "1 hour and 30 minutes" as one of 90 minutes."""
    out: list[Quantity] = []
    for quantity in found:
        last = out[-1] if out else None
        if (
            last is not None
            and last.value is not None
            and quantity.value is not None
            and last.high is None
            and quantity.high is None
            and last.dimension == quantity.dimension
            and last.dimension in ("time", "months")
            and _FACTORS[last.unit][1] > _FACTORS[quantity.unit][1]
            and _JOIN.fullmatch(text, last.end, quantity.start)
            and last.number.isdigit() == quantity.number.isdigit()
        ):
            value = last.value * _FACTORS[last.unit][1] / _FACTORS[quantity.unit][1] + quantity.value
            number = text[last.start : quantity.start + len(quantity.number)]
            out[-1] = Quantity("number", value, quantity.unit, last.start, quantity.end, number)
        else:
            out.append(quantity)
    return out


def _raw_numbers(text: str, busy: list[tuple[int, int]]) -> list[_Raw]:
    tokens = list(_NUMBER.finditer(text))
    raws: list[_Raw] = []
    if not text.isascii():
        raws += [
            _Raw(_dense_number(match[0]), match[0], "", match.start(), match.end())
            for match in _DENSE_NUMBER.finditer(text)
            if not any(start < match.end() and match.start() < end for start, end in busy)
        ]
    at = 0
    block = 0
    while at < len(tokens):
        token = tokens[at]
        while block < len(busy) and busy[block][1] <= token.start():
            block += 1
        if block < len(busy) and token.end() > busy[block][0] and token.start() < busy[block][1]:
            at += 1
            continue
        word = token["word"]
        if word is None:
            value = _decimal(token["num"])
            start, end = token.start("num"), token.end("num")
            if start > 1 and (text[start] == "-" or text[start - 1] == "-") and not token["cur"]:
                before = text[start - 1] if text[start] == "-" else text[start - 2]
                if before.isalpha():  # "COVID-19", "EX-10.1": part of a name
                    at += 1
                    continue
            currency = _CURRENCY.get((token["cur"] or "").casefold().rstrip("."), "")
            if token["cur"]:
                start = token.start("cur")
            at += 1
            if value is None:
                continue
            scale = _SCALE.match(text, end)
            if scale is not None:
                key = scale[1].casefold()
                factor = _SCALES.get(key) or (_SHORT_SCALES.get(key) if currency else None)
                if factor:
                    value, end = value * factor, scale.end()
                    while at < len(tokens) and tokens[at].start() < end:
                        at += 1
            raws.append(_Raw(value, text[token.start("num") : end], currency, start, end))
            continue
        lower = word.casefold()
        if lower == "half" and (half := _HALF.match(text, token.start())):
            raws.append(
                _Raw(
                    Decimal("0.5"),
                    text[token.start() : half.end()].rstrip(),
                    "",
                    token.start(),
                    half.end() - 1,
                )
            )
            at += 1
            continue
        if lower in _SHY_VALUES and token.end() < len(text):
            unit, _ = _unit(text, token.end(), "")
            if unit and not unit.startswith("count:"):
                raws.append(_Raw(Decimal(_SHY_VALUES[lower]), word, "", token.start(), token.end()))
            at += 1
            continue
        if lower in _WORD_VALUES or (lower in ("a", "an") and at + 1 < len(tokens)):
            begin = at
            if lower in ("a", "an"):
                follower = (tokens[at + 1]["word"] or "").casefold()
                if follower in _SCALES and len(follower) > 3 and follower.isascii():
                    value = Decimal(_SCALES[follower])
                elif follower == "dozen":
                    value = Decimal(12)
                else:
                    at += 1
                    continue
                raws.append(
                    _Raw(
                        value,
                        text[token.start() : tokens[at + 1].end()],
                        "",
                        token.start(),
                        tokens[at + 1].end(),
                    )
                )
                at += 2
                continue
            counted = _word_number(tokens, at, text)
            if counted is not None and lower not in ("couple",):
                value, at = counted
                last = tokens[at - 1].end()
                # "one" alone is a pronoun as often as a number: only with a unit behind it.
                if lower == "one" and at == begin + 1:
                    unit, _ = _unit(text, last, "")
                    if not unit or unit.startswith("count:"):
                        continue
                raws.append(_Raw(value, text[token.start() : last], "", token.start(), last))
                continue
        at += 1
    raws.sort(key=lambda raw: raw.start)
    return raws


def comparable(a: Quantity, b: Quantity) -> bool:
    """Whether the two measure the same kind of thing, so that a difference means something."""
    return bool(a.dimension) and a.dimension == b.dimension


_DAY = Decimal(86400)
_MONTH_DAYS = (Decimal(28), Decimal(31))
_YEAR_DAYS = (Decimal(365), Decimal(366))


def span(q: Quantity) -> tuple[str, Decimal, Decimal]:
    """Dimension and least and greatest value in its base unit of a number. Months and years become spans of seconds, so
    that six weeks and three months can be told apart, and 30 days and a month cannot."""
    low, high = _base(q) or (Decimal(0), Decimal(0))
    dimension = q.dimension
    if dimension != "months":
        return dimension, low, high
    least, most = (_days(low, 0), _days(high, 1))
    return "time", least * _DAY, most * _DAY


def _days(months: Decimal, end: int) -> Decimal:
    years = months // 12
    return years * _YEAR_DAYS[end] + (months - 12 * years) * _MONTH_DAYS[end]


def in_unit(q: Quantity, unit: str) -> Decimal:
    """The value of a number in another unit of its dimension."""
    one = Decimal(1)
    assert q.value is not None
    return q.value * _FACTORS.get(q.unit, ("", one))[1] / _FACTORS.get(unit, ("", one))[1]


def _base(q: Quantity) -> tuple[Decimal, Decimal] | None:
    if q.value is None:
        return None
    factor = _FACTORS.get(q.unit, ("", Decimal(1)))[1]
    return q.value * factor, (q.high if q.high is not None else q.value) * factor


def same_quantity(a: Quantity, b: Quantity) -> bool:
    """Whether two quantities say the same: equal after conversion of units (1 day = 24 hours), dates as far as both go.

    A date without a year agrees with the same day of any year; "2024" agrees with a day of 2024.
    """
    if a.kind != b.kind:
        return False
    if a.kind == "number":
        if a.dimension != b.dimension and a.unit and b.unit:
            return False
        if not (a.unit and b.unit):
            return (a.value, a.high) == (b.value, b.high)
        return _base(a) == _base(b)
    if a.kind == "time":
        return a.date == b.date
    if a.date == b.date:
        return True
    if "/" in a.date or "/" in b.date:
        return False
    if a.date.startswith("-") or b.date.startswith("-"):
        return len(a.date) >= 6 and len(b.date) >= 6 and a.date[-6:] == b.date[-6:]
    return a.date.startswith(b.date + "-") or b.date.startswith(a.date + "-")
