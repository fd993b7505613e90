"""Decode a page's bytes: determine the encoding as WHATWG's HTML and Encoding standards do, with two corrections.

The order is that of the encoding sniffing algorithm: a byte order mark, or a first tag that is a tag in UTF-16 only;
the charset of the Content-Type header; a `meta` element within the first 1,024 bytes, or 256 KiB if the page is not
valid UTF-8; an XML declaration; and the bytes themselves (`_guess_encoding`). Two kinds of declarations are ignored as
plainly wrong: UTF-8 if many bytes are not valid UTF-8, where the next declaration counts, and another encoding that
extends ASCII if the page is valid UTF-8 and not only ASCII.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

_LABELS = """
utf-8 utf_8: unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8
ibm866 cp866: 866 cp866 csibm866 ibm866
iso-8859-2 iso8859_2: csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso-8859-3 iso8859_3: csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso-8859-4 iso8859_4: csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso-8859-5 iso8859_5: csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
iso-8859-6 iso8859_6: arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e \
iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso-8859-7 iso8859_7: csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 \
iso_8859-7 iso_8859-7:1987 sun_eu_greek
iso-8859-8 iso8859_8: csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 \
iso_8859-8 iso_8859-8:1988 visual
iso-8859-8-i iso8859_8: csiso88598i iso-8859-8-i logical
iso-8859-10 iso8859_10: csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso-8859-13 iso8859_13: iso-8859-13 iso8859-13 iso885913
iso-8859-14 iso8859_14: iso-8859-14 iso8859-14 iso885914
iso-8859-15 iso8859_15: csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9
iso-8859-16 iso8859_16: iso-8859-16
koi8-r koi8_r: cskoi8r koi koi8 koi8-r koi8_r
koi8-u koi8_u: koi8-ru koi8-u
macintosh mac_roman: csmacintosh mac macintosh x-mac-roman
windows-874 cp874: dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874
windows-1250 cp1250: cp1250 windows-1250 x-cp1250
windows-1251 cp1251: cp1251 windows-1251 x-cp1251
windows-1252 cp1252: ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 \
iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined
windows-1253 cp1253: cp1253 windows-1253 x-cp1253
windows-1254 cp1254: cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 \
latin5 windows-1254 x-cp1254
windows-1255 cp1255: cp1255 windows-1255 x-cp1255
windows-1256 cp1256: cp1256 windows-1256 x-cp1256
windows-1257 cp1257: cp1257 windows-1257 x-cp1257
windows-1258 cp1258: cp1258 windows-1258 x-cp1258
x-mac-cyrillic mac_cyrillic: x-mac-cyrillic x-mac-ukrainian
gbk gb18030: chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk
gb18030 gb18030: gb18030
big5 big5hkscs: big5 big5-hkscs cn-big5 csbig5 x-x-big5
euc-jp euc_jp: cseucpkdfmtjapanese euc-jp x-euc-jp
iso-2022-jp iso2022_jp: csiso2022jp iso-2022-jp
shift_jis cp932: csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis
euc-kr cp949: cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949
utf-16be utf_16_be: unicodefffe utf-16be
utf-16le utf_16_le: csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le
"""

_CODEC_BY_NAME: dict[str, str] = {}
_NAME_BY_LABEL: dict[str, str] = {}
for _line in _LABELS.strip().splitlines():
    _name_and_codec, _, _labels = _line.partition(": ")
    _name, _codec = _name_and_codec.split()
    _CODEC_BY_NAME[_name] = _codec
    _NAME_BY_LABEL.update(dict.fromkeys(_labels.split(), _name))

_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_UTF_16_START = re.compile(rb"(?>(?:[\t\n\r ]\0)*)<\0[!?A-Za-z]\0|(?>(?:\0[\t\n\r ])*)\0<\0[!?A-Za-z]")
"""Matches the first tag of a page in UTF-16 without a byte order mark; as ASCII it would be no tag."""
_PRESCAN_BYTES = 1024
_LATE_PRESCAN_BYTES = 256 * 1024  # searched for a `meta` if the page is not UTF-8
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_RAW_TEXT = re.compile(rb"<!--.*?(?:-->|\Z)|<(script|style|textarea|title)\b.*?(?:</\1|\Z)", re.DOTALL | re.IGNORECASE)
_META = re.compile(rb"<meta[\s/][^>]{0,1000}?charset\s*+=\s*+[\"']?+\s*+([^\s\"'/>;]{1,40})", re.IGNORECASE)
_XML_DECLARATION = re.compile(rb"<\?xml\s[^>]{0,200}?\sencoding\s*=\s*[\"']([^\"'>\s]{1,40})")
_CHARSET = re.compile(r"charset\s*+=\s*+[\"']?+\s*+([^\s\"';,]{1,40})", re.IGNORECASE)
_MAX_INVALID_SHARE = 0.005  # of all bytes; with more invalid ones, declared UTF-8 is ignored


_TAG = re.compile(rb"<[^<>]*+>")
_ASCII = bytes(range(128))
_SAMPLE_BYTES, _MIN_SAMPLE_BYTES = 4_000, 20  # of a text whose encoding is guessed
_MAX_LATIN_SHARE = 1 / 3  # of bytes beyond ASCII in a text in Latin letters
_RUSSIAN = re.compile("[оеаинтсрвлкмдпуя]")
_KANA = re.compile("[ぁ-んァ-ヶー]")
_IDEOGRAPHS = re.compile("[\u4e00-\u9fff]")
_LETTERS = (
    ("windows-1251", "cp1251", _RUSSIAN), ("koi8-r", "koi8_r", _RUSSIAN),
    ("windows-1253", "cp1253", re.compile("[αοιετσνηυρπκμλςίόάέή]")),
    ("windows-1255", "cp1255", re.compile("[יוהלאתמרבשנ]")),
    ("windows-1256", "cp1256", re.compile("[اليمونرتبةعد]")),
    ("windows-874", "cp874", re.compile("[านรอกงมยลวดทสตบคหพ]")),
)  # fmt: skip
"""Encodings of one byte for a letter, with their codecs and the usual letters of a language that is written in it."""
_MIN_USUAL_SHARE = 0.6
_SYLLABLES = (
    ("shift_jis", "cp932", _KANA, 0.3), ("euc-jp", "euc_jp", _KANA, 0.3),
    ("euc-kr", "cp949", re.compile("[가-힣]"), 0.9),
)  # fmt: skip
_HAN = (("gbk", "gb2312", _IDEOGRAPHS, 0.6), ("big5", "big5", _IDEOGRAPHS, 0.6))
"""Encodings of several bytes for a letter, with their codecs, characters, and the minimum share of these in a text."""
_OTHER_SCRIPTS = {"ar", "be", "bg", "el", "fa", "he", "ja", "ko", "mk", "ru", "th", "uk", "ur", "yi", "zh"}
"""Languages in all of these encodings."""
_CENTRAL = {
    "cs": "áčďéěíňóřšťúůýž", "sk": "áäčďéíĺľňóôŕšťúýž", "pl": "ąćęłńóśźż", "hu": "áéíóöőúüű", "ro": "ăâîşţ",
    "hr": "čćđšž", "sl": "čšž", "bs": "čćđšž",
}  # fmt: skip
_LATIN = (
    ("windows-1250", _CENTRAL),
    ("iso-8859-2", _CENTRAL),
    ("windows-1257", {"lv": "āčēģīķļņšūž", "lt": "ąčęėįšųūž", "et": "äöõüšž"}),
    ("windows-1254", {"tr": "âçğıîöşüû\u0307"}),
)  # fmt: skip
"""Encodings of Latin letters, with the letters beyond ASCII of languages that windows-1252 cannot write."""
_WESTERN = (
    "àâæçèéêëîïôùûüÿœ", "áéíñóúü", "àçèéíïòóúü", "àáâãçéêíóôõúü", "àèéìîòóù", "äöüßé", "åäöæøéü", "áæéíðóöúýþ",
    "áèéêëïóöü",
)  # fmt: skip
"""Letters beyond ASCII of languages in windows-1252: of French, Spanish, Catalan, Portuguese, Italian, German, of
Scandinavia, of Icelandic and Dutch."""
_MIN_ALPHABET_SHARE = 0.95  # of the letters beyond ASCII of a text that are in the alphabet of its language
_MAX_WESTERN_SHARE = 0.95  # of the letters that such an alphabet explains, for a text that declares no language
_MIN_LETTERS = 3  # beyond ASCII, in a text that declares no language
_SIGN = re.compile(rb"(?<![A-Za-z\x8a-\xff])[\xa1-\xbf]|[\xa1-\xbf](?![A-Za-z\x8a-\xff])")
"""Matches a sign of windows-1252, such as a pound or a raised 3. In other encodings it may be a letter of a word."""
_QUOTES = b"\x84\x85\x91\x92\x93\x94\x95\x96\x97\xa0"  # and dashes: the same in all encodings of Windows
_LANGUAGE = re.compile(rb"<html\b[^>]{0,1000}?\slang\s*+=\s*+[\"']?+([a-z]{2})\b", re.IGNORECASE)


class DecodedText(NamedTuple):
    """A page's text, its encoding, and the source that determined the encoding."""

    text: str
    encoding: str
    """The name of the encoding in the Encoding Standard, in lower case."""
    source: str
    """`bom`, `header`, `meta`, `xml` for an XML declaration, or `content` for the bytes themselves."""


def find_encoding(label: str) -> str | None:
    """Return the name of the encoding with this label (Encoding Standard, section 4.2), or None for an unknown label.

    >>> find_encoding(" Latin1 "), find_encoding("utf-7")
    ('windows-1252', None)
    """
    return _NAME_BY_LABEL.get(label.strip().lower())


def decode(raw: bytes, content_type: str = "") -> DecodedText:
    """Decode a page's bytes, replacing invalid ones with U+FFFD; `content_type` is the value of Content-Type, or "".

    >>> decode("naïve".encode("latin-1"), "text/html; charset=iso-8859-1")
    DecodedText(text='naïve', encoding='windows-1252', source='header')
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return DecodedText(raw[len(mark) :].decode(_CODEC_BY_NAME[name], "replace"), name, "bom")
    if b"\0" in raw[:2] and _UTF_16_START.match(raw):
        name = "utf-16be" if raw.startswith(b"\0") else "utf-16le"
        return DecodedText(raw.decode(_CODEC_BY_NAME[name], "replace"), name, "content")
    utf_8_text = _decode_utf_8(raw)
    declared, source = _read_declaration(raw, content_type, search_late=utf_8_text is None)
    if declared is None:
        return DecodedText(utf_8_text, "utf-8", "content") if utf_8_text is not None else _decode_undeclared(raw)
    if utf_8_text is not None and _extends_ascii(declared):
        # all bytes are valid UTF-8: if there are any beyond ASCII, another encoding is not plausible
        is_plausible = declared == "utf-8" or raw.isascii()
        return DecodedText(utf_8_text, declared if is_plausible else "utf-8", source if is_plausible else "content")
    text = raw.decode(_CODEC_BY_NAME[declared], "replace")
    if declared == "utf-8" and text.count("\ufffd") > len(raw) * _MAX_INVALID_SHARE:
        declared, source = _read_declaration(raw, "", search_late=True)
        if declared in {None, "utf-8"}:
            return _decode_undeclared(raw)
        text = raw.decode(_CODEC_BY_NAME[declared], "replace")
    return DecodedText(text, declared, source)


def _read_declaration(raw: bytes, content_type: str, *, search_late: bool) -> tuple[str | None, str]:
    """Return the declared encoding, or None, and where it is declared; if `search_late`, a later `meta` also counts."""
    parameter = _CHARSET.search(content_type)
    name = find_encoding(parameter[1]) if parameter else None
    if name:
        return name, "header"
    meta = _META.search(_COMMENT.sub(b"", raw[:_PRESCAN_BYTES]))
    if meta is None and search_late:
        meta = _META.search(_RAW_TEXT.sub(b"", raw[:_LATE_PRESCAN_BYTES]))
    declaration, source = (meta, "meta") if meta else (_XML_DECLARATION.match(raw), "xml")
    name = find_encoding(declaration[1].decode("latin-1")) if declaration else None
    # a page in which a declaration was found as ASCII is not UTF-16, whatever it declares
    return ("utf-8" if name and name.startswith("utf-16") else name), source


def _decode_utf_8(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _extends_ascii(name: str) -> bool:
    return not name.startswith("utf-16") and name != "iso-2022-jp"


def _decode_undeclared(raw: bytes) -> DecodedText:
    name = _guess_encoding(raw)
    return DecodedText(raw.decode(_CODEC_BY_NAME[name], "replace"), name, "content")


def _guess_encoding(raw: bytes) -> str:
    """Return the encoding of bytes that are not UTF-8 by the letters that they have in it; else `windows-1252`.

    Where several encodings explain the letters, the language that the page declares decides. Browsers use the
    top-level domain or the language of their user there.
    """
    visible = _TAG.sub(b"", _RAW_TEXT.sub(b"", raw[:_LATE_PRESCAN_BYTES]))
    declared = _LANGUAGE.search(raw[:_LATE_PRESCAN_BYTES])
    language = declared[1].decode().lower() if declared else ""
    text = b"".join(visible.split())[:_SAMPLE_BYTES]
    beyond_ascii = len(text.translate(None, _ASCII))
    if len(text) >= _MIN_SAMPLE_BYTES and (language in _OTHER_SCRIPTS or beyond_ascii > len(text) * _MAX_LATIN_SHARE):
        share, alphabet = max((_share_of(letters, text, codec), name) for name, codec, letters in _LETTERS)
        by_letters = alphabet if share >= _MIN_USUAL_SHARE else None
        name = _find_fitting(_SYLLABLES, text) or by_letters or _find_fitting(_HAN, text)
        if name or beyond_ascii > len(text) * _MAX_LATIN_SHARE:
            return name or "windows-1252"
    return guess_latin_encoding(visible, language)


def guess_latin_encoding(raw: bytes, language: str = "") -> str:
    """Return the encoding of one byte for a Latin letter in which a text has the letters of one language.

    That is `windows-1252` if a language of western Europe has about as many of the letters, unless `language` (two
    letters, or "") is one of another encoding that explains them as well.

    >>> guess_latin_encoding("příliš žluťoučký kůň".encode("cp1250"))
    'windows-1250'
    """
    sample = _SIGN.sub(b"", raw).translate(None, _ASCII + _QUOTES)[:_SAMPLE_BYTES]
    western_text = sample.decode("cp1252", "ignore").lower()
    western_hits = max([_count_letters(western_text, alphabet) for alphabet in _WESTERN])
    if not language and western_hits >= len(sample) * _MAX_WESTERN_SHARE:
        return "windows-1252"
    candidates = [(0, False, "windows-1252")]
    for name, alphabets in _LATIN:
        text = sample.decode(_CODEC_BY_NAME[name], "ignore").lower()
        letters = sum(map(str.isalpha, text))
        for alphabet_language, alphabet in alphabets.items():
            hits, is_declared = _count_letters(text, alphabet), alphabet_language == language
            is_likelier = hits >= _MIN_LETTERS and western_hits < hits * _MAX_WESTERN_SHARE
            if hits >= letters * _MIN_ALPHABET_SHARE and (is_likelier or (is_declared and hits >= western_hits)):
                candidates.append((hits, is_declared, name))
    return max(candidates, key=itemgetter(0, 1))[2]  # the first of equal ones


def _count_letters(text: str, alphabet: str) -> int:
    return sum(map(text.count, alphabet))


def _find_fitting(rules: Iterable[tuple[str, str, re.Pattern[str], float]], text: bytes) -> str | None:
    fitting = (name for name, codec, characters, least in rules if _share_of(characters, text, codec) >= least)
    return next(fitting, None)


def _share_of(characters: re.Pattern[str], text: bytes, codec: str) -> float:
    """Return the share of characters of a kind among those beyond ASCII of a text, or 0 if it is not in this codec."""
    try:
        decoded = getincrementaldecoder(codec)().decode(text)  # the text may end within a character
    except UnicodeDecodeError:
        return 0.0
    others = len(decoded) - len(decoded.encode("ascii", "ignore"))
    return len(characters.findall(decoded)) / others if others else 0.0
