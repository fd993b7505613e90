"""Find the status of an event in its title or text, where a source without a field for the status writes it.

A word such as "cancelled" gives the status if it is in brackets or in capitals, if a dash separates it from the title,
if it follows the title's noun or begins a title that names a meeting or a body, or if it is in a sentence about the
event that states no condition. So `Cancelled checks: a workshop` is not cancelled; the word is only noted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from windrow.formats.months import month_number

# In English, Spanish and Portuguese, French, German, Italian and Dutch.
_WORDS = {
    "cancelled": (
        r"cancell?ed|cancellation notice|notice of cancellation|cancellation|called off|cancelad[oa]s?|suspendid[oa]s?"
        r"|annul\u00e9e?s?|annullat[oa]|abgesagt|entf\u00e4llt|f\u00e4llt aus|geannuleerd|afgelast"
    ),
    "postponed": (
        r"postponed|notice of postponement|deferred|pospuest[oa]s?|aplazad[oa]s?|adiad[oa]s?|report\u00e9e?s?"
        r"|rinviat[oa]|posticipat[oa]|verschoben|uitgesteld"
    ),
    "rescheduled": r"rescheduled|reprogramad[oa]s?|remarcad[oa]s?|reprogramm\u00e9e?s?|verlegt|verplaatst",
}
_NOUNS = (
    "meeting", "hearing", "session", "event", "workshop", "conference", "class", "program", "forum", "webinar",
    "sitzung", "veranstaltung", "termin", "reuni\u00f3n", "sesi\u00f3n", "audiencia", "r\u00e9union", "s\u00e9ance",
    "riunione", "seduta", "vergadering", "reuni\u00e3o", "sess\u00e3o",
)  # fmt: skip
_BODIES = (
    "board", "commission", "committee", "council", "authority", "agency", "assembly", "caucus", "trustees", "selectmen",
    "commissioners", "court", "task force", "ausschuss", "rat", "consejo", "comisi\u00f3n", "pleno", "junta", "conseil",
    "comité", "consiglio", "giunta", "commissione", "raad", "commissie", "conselho", "c\u00e2mara",
)  # fmt: skip
_WORD = rf"(?<!not )(?<!not be )(?<!nicht )(?<!\bun-)({'|'.join(_WORDS.values())})\b"
_DASH = r"[-\u2013\u2014:|/*!,.]+"
_AFTER_NOUN = "|".join(rf"(?<={noun})" for noun in (*_NOUNS, *_BODIES))
_REASON_OR_TIME = (
    r"(?:to|until|till|auf|due|because|for|by|per|as|on|wegen|por|indefinitely|today|tonight|no|lack|see|new|\d"
    r"|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)"
)
"""What may follow the word in brackets: `(postponed from May 5)` and `(cancelled in person)` take place."""

_IN_BRACKETS = re.compile(
    rf"(?<![\[(*{{<])[\[(*{{<]++\s*+{_WORD}(?:\s*(?:{_DASH}|{_REASON_OR_TIME})[^\])}}>*]{{0,80}}|\s*)[\])*}}>]+",
    re.IGNORECASE,
)
_BEFORE = re.compile(rf"^[\W_]*{_WORD}\s*(?:{_DASH}\s*|[\u2022\u00b7]\s*|$)", re.IGNORECASE)
_AFTER = re.compile(
    rf"(?:^|\s*{_DASH}\s*|\s+(?:is|has been|was|ist|est)\s+|(?:{_AFTER_NOUN})\s+){_WORD}"
    r"(?:\s+(?:to|until|till|auf|due to|because of|for lack of|wegen)\b.{0,60})?[\W_]*$",
    re.IGNORECASE,
)
_AFTER_NOUN_BEFORE_DASH = re.compile(rf"(?:{_AFTER_NOUN})\s+{_WORD}\s*{_DASH}\s", re.IGNORECASE)
_BEFORE_BODY = re.compile(
    rf"^[\W_]*(?!deferred|cancellation){_WORD}(?=.*(?:meeting|{'|'.join(_BODIES)})\b)", re.IGNORECASE
)
_ANYWHERE = re.compile(rf"(?:^|(?<=\s)){_WORD}(?=[\s:]|$)[\s:]*", re.IGNORECASE)
_SENTENCE = re.compile(
    r"\b(?:this|the|today's|tonight's)\s+((?:[\w'-]+\s+){0,4}?)"
    rf"(?:{'|'.join(_NOUNS)})\s+(?:has been|have been|is|was)\s+(?:hereby\s+)?{_WORD}",
    re.IGNORECASE,
)
_CONDITION_BEFORE = re.compile(
    r"\b(?:if|unless|whether|in case|in the event|should|when|whenever|until|once|provided|to see|to find out"
    r"|wenn|falls|sofern|si)\b[^.!?;\n]*$",
    re.IGNORECASE,
)
_CONDITION_AFTER = re.compile(
    r"\s*,?\s*(?:if|unless|in case|in the event|should|when|whenever|provided)\b", re.IGNORECASE
)
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH = re.compile(
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)(?:'s)?",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(r"(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?(?:'s)?", re.IGNORECASE)
_DAY_OR_YEAR = re.compile(r"(\d+)(?:st|nd|rd|th)?(?:'s)?", re.IGNORECASE | re.ASCII)
_OTHER_EVENTS = frozenset(
    {
        "last",
        "previous",
        "prior",
        "earlier",
        "preceding",
        "past",
        "next",
        "following",
        "upcoming",
        "later",
        "other",
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
    }
)
_IN_FIELD = re.compile(_WORD, re.IGNORECASE)
_SEARCHED_CHARACTERS = 1000
"""The length of the beginning of a title or description; a word after it, as in an agenda, is only noted.

It is also that of the text before a sentence in which a condition is looked for. Without this bound, the time would
grow with the square of the text.
"""
_NOTED_CHARACTERS = 200


class FieldStatus(NamedTuple):
    """The status that a field of the source gives, and a note with the text of the field.

    The status is empty if the field has no known word. The note is empty if the field is empty, or is a known word and
    nothing else.
    """

    status: str
    note: str


class WrittenStatus(NamedTuple):
    """The status that a text gives an event, the words that give it, and the title without these words.

    The status is empty if the words may be about something else; then they are only noted.
    """

    status: str
    words: str
    title: str


def find_status(
    title: str, description: str = "", day: date | None = None, field_status: str = ""
) -> WrittenStatus | None:
    """Return the status that the title or the beginning of the description gives an event; None if neither does.

    A sentence of the description that names a month, a weekday or a date is used only if these are those of `day`, the
    day of the event. A sentence that contradicts `field_status`, which a field of the source states, is only noted; so
    is one after the beginning.

    >>> find_status("CANCELLED - Board of Ethics")
    WrittenStatus(status='cancelled', words='CANCELLED', title='Board of Ethics')
    >>> find_status("Budget hearing (postponed to May 5)").status, find_status("Cancelled checks: a workshop").status
    ('postponed', '')
    """
    mention = _IN_FIELD.search(title)
    if mention and (match := _find_in_title(title[:_SEARCHED_CHARACTERS])):
        return WrittenStatus(_status_of(match[1]), match[1], _remove_match(title, match))
    beginning = description[:_SEARCHED_CHARACTERS]
    if (match := _BEFORE.search(beginning)) and match[1].lower() != "cancellation":
        return WrittenStatus(_status_of(match[1]), match[1], title)
    for match in _SENTENCE.finditer(description):
        if _may_mean(match[1].split(), day) and not _is_conditional(description, match):
            is_noted_only = field_status or match.start() >= _SEARCHED_CHARACTERS
            return WrittenStatus("" if is_noted_only else _status_of(match[2]), " ".join(match[0].split()), title)
    return WrittenStatus("", title, title) if mention else None


def _find_in_title(title: str) -> re.Match[str] | None:
    patterns = (_IN_BRACKETS, _BEFORE, _AFTER, _AFTER_NOUN_BEFORE_DASH, _BEFORE_BODY)
    match = next(filter(None, (pattern.search(title) for pattern in patterns)), None)
    if match is None and title != title.upper():
        match = next((capitals for capitals in _ANYWHERE.finditer(title) if capitals[1].isupper()), None)
    return None if match is None or _is_conditional(title, match) else match


def _is_conditional(text: str, match: re.Match[str]) -> bool:
    """Return whether the sentence of a match states a condition, as in `if the meeting is cancelled`."""
    word = match.lastindex or 0
    text_before = text[max(0, match.start(word) - _SEARCHED_CHARACTERS) : match.start(word)]
    return bool(_CONDITION_BEFORE.search(text_before) or _CONDITION_AFTER.match(text, match.end(word)))


def _may_mean(words: Sequence[str], day: date | None) -> bool:
    """Return whether the words before the noun of a sentence may mean the event of a `day`, and no other event.

    >>> day = date(2026, 11, 3)
    >>> [_may_mean(words.split(), day) for words in ("regular", "November 3rd", "October", "Tuesday", "2nd", "next")]
    [True, True, False, True, False, False]
    """
    for word in words:
        if word.lower() in _OTHER_EVENTS:
            return False
        month, weekday, number = (pattern.fullmatch(word) for pattern in (_MONTH, _WEEKDAY, _DAY_OR_YEAR))
        if not (month or weekday or number):
            continue
        if day is None:
            return False
        if month and month_number(month[1]) != day.month:
            return False
        if weekday and _WEEKDAYS.index(weekday[1][:3].lower()) != day.weekday():
            return False
        if number and int(number[1][:9]) not in {day.day, day.year}:
            return False
    return True


def read_status(text: str, meanings: Mapping[str, str]) -> FieldStatus:
    """Return the status in a field. `meanings` is a dict from the source's words, in lower case, to statuses.

    >>> read_status("Final", {"final": "scheduled"}), read_status("cancelled by the chair", {}).status
    (FieldStatus(status='scheduled', note=''), 'cancelled')
    >>> read_status("on hold", {})
    FieldStatus(status='', note='the source writes: on hold')
    """
    text = " ".join(text.split())
    if not text or text.lower() in meanings:
        return FieldStatus(meanings.get(text.lower(), ""), "")
    match = _IN_FIELD.search(text)
    return FieldStatus(_status_of(match[1]) if match else "", note_text(text))


def note_text(text: str) -> str:
    """Return the note for a text from the source that windrow does not understand completely."""
    return f"the source writes: {text[:_NOTED_CHARACTERS]}"


def _status_of(word: str) -> str:
    return next(status for status, words in _WORDS.items() if re.fullmatch(words, word, re.IGNORECASE))


def _remove_match(title: str, match: re.Match[str]) -> str:
    remaining = " ".join(f"{title[: match.start()]} {title[match.end() :]}".split()).strip(" -\u2013\u2014:|/*,")
    return remaining or title
