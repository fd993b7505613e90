"""The names of the months in the languages of Europe, as dates write them: nominative, genitive and abbreviations.

A name that is another month in another language is left out, so that a date with it is not read: Croatian `listopad` is
October, in Polish it is November, and `lip` and `srp` are June and July there, but July and August elsewhere. So are
abbreviations that names of products have beside a number, such as Czech `pro` and `led`.
"""
# ruff: noqa: RUF001 Cyrillic and Greek letters look like others

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from itertools import groupby
from operator import itemgetter
from unicodedata import category, normalize

_NAMES = (
    # English, German, Luxembourgish, Dutch, Danish, Norwegian, Swedish, Icelandic, Faroese
    # French, Italian, Spanish, Catalan, Galician, Portuguese, Romanian
    # Czech, Slovak, Polish, Slovene, Croatian and Serbian
    # Lithuanian, Latvian, Estonian, Finnish, Hungarian, Albanian, Maltese, Turkish, Irish, Welsh, Basque
    # Greek; Bulgarian, Macedonian, Serbian, Russian, Ukrainian, Belarusian
    """january jan januar jänner jän januari janúar
    janvier janv gennaio genn gen enero ene gener xaneiro xan janeiro ianuarie ian
    leden ledna január januára styczeń stycznia sty januarja siječanj siječnja sij januara
    sausis sausio saus janvāris janvārī janvāra jaanuar jaan tammikuu tammikuuta tammi janar jannar ocak oca eanáir
    ionawr urtarrila urtarrilaren urtarrilak
    ιανουάριος ιανουαρίου ιαν януари яну јануари јануар јануара јан январь января янв січень січня січ студзень
    студзеня
    студ""",
    """february feb februar feber februari febr febrúar
    février févr fév febbraio febb febrero febrer febreiro fevereiro fev februarie
    únor února úno február februára luty lutego lut februarja veljača veljače velj februara
    vasaris vasario vas februāris februārī februāra veebruar veebr helmikuu helmikuuta helmi shkurt frar şubat şub
    feabhra chwefror chwef otsaila otsailaren otsailak
    φεβρουάριος φεβρουαρίου φεβ февруари фев фебруари фебруар фебруара феб февраль февраля февр лютий лютого лют люты
    лютага""",
    """march mar märz mär maerz mrz mäerz maart mrt marts mars
    marzo març março martie
    březen března bře marec marca marzec mart marta ožujak ožujka ožu
    kovas kovo kov martā märts maaliskuu maaliskuuta maalis március márc marzu márta mawrth martxoa martxoaren
    martxoak
    μάρτιος μαρτίου μάρ март мар марта березень березня бер сакавік сакавіка сак""",
    """april apr abrëll avril avr aprile abril abr aprilie
    duben dubna dub apríl apríla kwiecień kwietnia kwi aprila travanj travnja tra
    balandis balandžio bal aprīlis aprīlī aprīļa aprill huhtikuu huhtikuuta huhti április ápr prill nisan nis aibreán
    ebrill apirila apirilaren apirilak
    απρίλιος απριλίου απρ април апр априла апрель апреля квітень квітня квіт красавік красавіка крас""",
    """may mai mee mei maj maí
    maggio magg mag mayo maig maio
    květen května kvě máj mája maja svibanj svibnja svi
    gegužė gegužės geg maijs maijā maija toukokuu toukokuuta touko május mejju mayıs mayis bealtaine maiatza
    maiatzaren
    maiatzak
    μάιος μαΐου μάι май маи мај маја мая травень травня трав траўня""",
    """june jun juni júní
    juin giugno giu junio juny xuño xuñ junho iunie iun
    červen června čvn jún júna czerwiec czerwca cze junij junija juna lipanj lipnja
    birželis birželio birž jūnijs jūnijā jūnija juuni kesäkuu kesäkuuta kesä június qershor qer ġunju haziran haz
    meitheamh mehefin meh ekaina ekainaren ekainak
    ιούνιος ιουνίου ιούν юни јуни јун јуна июнь июня июн червень червня черв чэрвень чэрвеня""",
    """july jul juli júlí
    juillet juil luglio lug julio juliol xullo xul julho iulie iul
    červenec července čvc júl júla lipiec lipca julij julija jula srpanj srpnja
    liepa liepos liep jūlijs jūlijā jūlija juuli heinäkuu heinäkuuta heinä július korrik kor lulju temmuz tem iúil
    gorffennaf gorff uztaila uztailaren uztailak
    ιούλιος ιουλίου ιούλ юли јули јул јула июль июля июл липень липня лип ліпень ліпеня""",
    """august aug augustus augusti ágúst
    août agosto ago agost
    srpen srpna augusta sierpień sierpnia sie avgust avgusta avg kolovoz kolovoza kol
    rugpjūtis rugpjūčio rugp augusts augustā elokuu elokuuta elo augusztus gusht awwissu ağustos ağu lúnasa awst
    abuztua abuztuaren abuztuak
    αύγουστος αυγούστου αύγ август авг августа серпень серпня серп жнівень жніўня""",
    """september sept sep
    septembre settembre sett set septiembre setiembre setembre setembro septembrie
    září zář septembra wrzesień września wrz rujan rujna ruj septembar
    rugsėjis rugsėjo rugs septembris septembrī septembra syyskuu syyskuuta syys szeptember szept shtator sht settembru
    eylül eyl meán\\s+fómhair medi iraila irailaren irailak
    σεπτέμβριος σεπτεμβρίου σεπ σεπτ септември септ септембри септембар септембра сеп сентябрь сентября сен
    сент вересень
    вересня вер верасень верасня""",
    """october oct oktober okt október
    octobre ottobre ott octubre outubro out octombrie
    říjen října říj októbra październik października paź oktobra oktobar
    spalis spalio spal oktobris oktobrī oktoober lokakuu lokakuuta loka tetor tet ottubru ekim eki
    deireadh\\s+fómhair hydref hyd urria urriaren urriak
    οκτώβριος οκτωβρίου οκτ октомври окт октобар октобра октябрь октября жовтень жовтня жовт кастрычнік
    кастрычніка""",
    """november nov nóvember
    novembre noviembre novembro noiembrie noi
    listopadu novembra novembar studeni studenog studenoga
    lapkritis lapkričio lapkr novembris novembrī marraskuu marraskuuta marras nëntor nën novembru kasım kasim kas
    samhain tachwedd tach azaroa azaroaren azaroak
    νοέμβριος νοεμβρίου νοέ νοεμ ноември ноем новембри новембар новембра нов ноябрь ноября ноя нояб листопад листопада
    лістапад лістапада""",
    """december dec dezember dez desember des
    décembre déc dicembre dic diciembre desembre decembro dezembro decembrie
    prosinec prosince decembra grudzień grudnia gru prosinac prosinca decembar
    gruodis gruodžio gruod decembris decembrī detsember dets joulukuu joulukuuta joulu dhjetor dhj diċembru aralık
    aralik ara nollaig rhagfyr rhag abendua abenduaren abenduak
    δεκέμβριος δεκεμβρίου δεκ декември дек декембри децембар децембра дец декабрь декабря грудень грудня груд снежань
    снежня""",
)  # fmt: skip


def _without_accents(name: str) -> str:
    return "".join(sign for sign in normalize("NFD", name) if category(sign) != "Mn")


_NUMBERS = {
    spelling: number
    for number, names in enumerate(_NAMES, 1)
    for name in names.replace("\\s+", "_").split()
    for spelling in (name.replace("_", " "), _without_accents(name).replace("_", " "))
}

_PATTERNS = sorted((name.replace(" ", r"\s+") for name in _NUMBERS), key=lambda name: (name[0], -len(name)))
_ALTERNATIVES = "|".join(
    f"{letter}(?:{'|'.join(name[1:] for name in names)})" for letter, names in groupby(_PATTERNS, key=itemgetter(0))
)
"""The names by their first letters: a search tries few of them at a word."""

MONTH_NAME = rf"(?u:(?<![^\W\d_])(?:{_ALTERNATIVES})(?![^\W\d_])\.?)"
"""A pattern for a name with or without a dot, to be compiled with IGNORECASE; it is no part of a longer word."""

BEFORE_MONTH = r"(?:\s+(?:of|de|ta')\s+|\s+d['\u2019]|[\s-]+)"
"""Matches what is between a day and the name of its month: `24th of November`, `24 d'abril`, `24-Nov-2026`."""

BEFORE_YEAR = r"(?:\s+del?\s+|,?[\s-]+)"
"""Matches what is between the name of a month and its year: `24 de noviembre de 2026`, `24 Nov, 2026`."""

AFTER_YEAR = r"(?:\.\s+|\s+m\.\s+|[\s-]+)"
"""Matches what is between a year and the name of a month after it: `2026. november 24.`, `2026 m. lapkričio 24 d.`."""


def month_number(name: str) -> int:
    """Return the number of the month with a name, from 1 to 12; 0 if it is not known.

    >>> [month_number(name) for name in ("Sept.", "NOVEMBRE", "marraskuuta", "listopada")]
    [9, 11, 11, 0]
    """
    plain = " ".join(name.rstrip(".").split()).lower()
    return _NUMBERS.get(plain) or _NUMBERS.get(_without_accents(plain), 0)


@cache
def _day_patterns() -> tuple[re.Pattern[str], ...]:
    month, flags = f"(?P<month>{MONTH_NAME})", re.ASCII | re.IGNORECASE
    return (
        re.compile(rf"{month}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b", flags),
        re.compile(
            rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?{BEFORE_MONTH}{month}{BEFORE_YEAR}(?P<year>\d{{4}})\b", flags
        ),
        re.compile(rf"\b(?P<year>\d{{4}}){AFTER_YEAR}{month}[\s-]+(?P<day>\d{{1,2}})\b", flags),
        re.compile(rf"\b(?P<year>\d{{4}})\.\s+gada\s+(?P<day>\d{{1,2}})\.\s+{month}", flags),
    )


def find_named_day(text: str) -> tuple[datetime, int, int] | None:
    """Return the first date with the name of a month, with its start and its end in the text; None if there is none.

    Raise ValueError if the month has no such day.

    >>> find_named_day("Publié le 1er août 2026")
    (datetime.datetime(2026, 8, 1, 0, 0), 10, 23)
    """
    for pattern in _day_patterns():
        if match := pattern.search(text):
            day = datetime(int(match["year"]), month_number(match["month"]), int(match["day"]))  # noqa: DTZ001
            return day, match.start(), match.end()
    return None


@cache
def _words_before() -> re.Pattern[str]:
    return re.compile(rf"(?:\D*?[a-z])??\W*?(?=\b(?:(?i:{MONTH_NAME})\s+)?\d)", re.ASCII)


def remove_words_before(text: str) -> str:
    """Remove the words before a time, unless the last one is in capitals, as the name of a zone would be."""
    words = _words_before().match(text)
    return text[words.end() if words else 0 :]
