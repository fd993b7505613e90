"""Bytes are decoded as browsers decode them, and any bytes can be."""

# ruff: noqa: RUF001 Cyrillic letters look like others

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.content.charset import _CODEC_BY_NAME, decode, find_encoding


@pytest.mark.parametrize(
    ("raw", "header", "encoding", "source", "text"),
    [
        (b"\xef\xbb\xbfa", "text/html; charset=latin1", "utf-8", "bom", "a"),
        (b"\xff\xfea\0", "", "utf-16le", "bom", "a"),
        (b"\xfe\xff\0a", "", "utf-16be", "bom", "a"),
        (b"\xe9t\xe9", 'text/html; charset="ISO-8859-1"', "windows-1252", "header", "été"),
        (b"\xe9t\xe9", "text/html", "windows-1252", "content", "été"),
        ("café".encode(), "text/html", "utf-8", "content", "café"),
        (b'<meta charset="koi8-r">\xc4', "", "koi8-r", "meta", '<meta charset="koi8-r">д'),
        (b"<meta http-equiv=content-type content='text/html; charset=shift_jis'>\x82\xa0", "", "shift_jis", "meta",
         "<meta http-equiv=content-type content='text/html; charset=shift_jis'>あ"),
        (b"<!-- <meta charset=koi8-r> -->\xe9", "", "windows-1252", "content", "<!-- <meta charset=koi8-r> -->é"),
        (b"<meta charset=utf-16>a", "", "utf-8", "meta", "<meta charset=utf-16>a"),
        ("\n<!doctype html>é".encode("utf-16-le"), "text/html; charset=utf-8", "utf-16le", "content", "\n<!doctype html>é"),
        ("<html>é".encode("utf-16-be"), "text/html", "utf-16be", "content", "<html>é"),
        ("<?xml?>é".encode("utf-16-le"), "", "utf-16le", "content", "<?xml?>é"),
        (b"\0<p>\xe9", "", "windows-1252", "content", "\0<p>é"),
        (b"a", "text/html; charset=nonsense", "utf-8", "content", "a"),
        (b"\xc4\xe3", "text/html; charset=gb2312", "gbk", "header", "你"),
    ],
)  # fmt: skip
def test_the_standard_order(raw: bytes, header: str, encoding: str, source: str, text: str) -> None:
    assert decode(raw, header) == (text, encoding, source)


def test_utf8_declared_as_latin1_is_read_as_utf8() -> None:
    assert decode("naïve 日本".encode(), "text/html; charset=iso-8859-1").text == "naïve 日本"


def test_latin1_declared_as_utf8_is_read_as_latin1() -> None:
    decoded = decode("é è à".encode("latin-1"), "text/html; charset=utf-8")
    assert (decoded.text, decoded.encoding) == ("é è à", "windows-1252")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("windows-1251", "Привет"), ("koi8-r", "Привет"), ("shift_jis", "これは町"), ("euc-kr", "안녕하세요")],
)
def test_where_the_header_is_plainly_wrong_the_meta_counts(encoding: str, text: str) -> None:
    raw = f"<meta charset={encoding}><p>{text}".encode(encoding)
    decoded = decode(raw, "text/html; charset=utf-8")
    assert (decoded.text[-len(text) :], *decoded[1:]) == (text, encoding, "meta")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("windows-1251", "Привет, это страница о городе и его жителях."),
        ("koi8-r", "Привет, это страница о городе и его жителях."),
        ("windows-1251", "Засідання міської ради відбудеться у вівторок о десятій годині."),
        ("windows-1253", "Το δημοτικό συμβούλιο θα συνεδριάσει την Τρίτη στις δέκα."),
        ("windows-1255", "מועצת העיר תתכנס ביום שלישי בשעה עשר בבוקר"),
        ("windows-1256", "سيجتمع مجلس المدينة يوم الثلاثاء في الساعة العاشرة"),
        ("windows-874", "สภาเทศบาลจะประชุมในวันอังคารเวลาสิบนาฬิกา"),
        ("shift_jis", "町議会は火曜日の午前十時に予算について話し合います。"),
        ("euc-jp", "町議会は火曜日の午前十時に予算について話し合います。"),
        ("euc-kr", "시의회는 화요일 오전 열 시에 예산을 논의하기 위해 회의를 엽니다."),
        ("gbk", "市议会将于星期二上午十点召开会议讨论预算。"),
        ("big5", "市議會將於星期二上午十點召開會議討論預算。"),
        ("windows-1250", "Příští zasedání zastupitelstva města se bude konat v úterý od deseti hodin."),
        ("iso-8859-2", "Příští zasedání zastupitelstva města se bude konat v úterý, řekl též Tomáš Žák."),
        (
            "windows-1250",
            "Następne posiedzenie komisji miasta odbędzie się we wtorek o dziesiątej, później głosowanie.",
        ),
        ("iso-8859-2", "Następne posiedzenie komisji miasta odbędzie się we wtorek o dziesiątej, także głosowanie."),
        ("windows-1250", "A képviselő-testület következő ülése kedden tíz órakor lesz, bővebb információ később."),
        ("windows-1250", "Şedinţa consiliului local va avea loc marţi, la ora zece, în sala mare a primăriei."),
        ("windows-1254", "Belediye meclisi toplantısı salı günü saat onda yapılacak, bütçe görüşülecek."),
        ("windows-1257", "Kitas miesto tarybos posėdis įvyks antradienį dešimtą valandą, bus svarstomas biudžetas."),
        ("windows-1257", "Nākamā pilsētas domes sēde notiks otrdien pulksten desmitos, tiks apspriests budžets."),
        ("windows-1252", "Fundur bæjarstjórnar verður haldinn á þriðjudaginn klukkan tíu, fjárhagsáætlun rædd."),
        ("windows-1252", "A próxima reunião da câmara será na terça-feira às dez horas, não haverá votações."),
        ("windows-1252", "It costs £5, or £7 with a £2 fee; 3 m³ for ¥9, n.º 4, see note¹."),
        ("windows-1252", "Anwesend: Jürgen Müller, José Núñez, Søren Ålund, Zoë Brontë, François Lefèvre."),
        ("windows-1252", "Où est l'élève âgé ? Là-bas, près de la forêt, à côté du château."),
    ],
)
def test_without_a_declaration_the_letters_tell(encoding: str, text: str) -> None:
    raw = f"<html lang=x><title>A</title><p class=a>{text}".encode(_CODEC_BY_NAME[encoding])
    decoded = decode(raw, "text/html")
    assert (decoded.text[-len(text) :], *decoded[1:]) == (text, encoding, "content")


def test_between_letters_that_fit_both_the_declared_language_decides() -> None:
    raw = "<p>Később kerül sor a bővített ülésre.".encode("cp1250")
    assert decode(b"<html><body>" + raw).encoding == "windows-1252", "Portuguese has these letters, too"
    assert decode(b"<html lang='hu-HU'><body>" + raw).text.endswith("bővített ülésre.")
    russian = ("<html lang=ru><p>" + "Form 12-B, PDF, 1.2 MB, " * 9 + "скачать образец заявления").encode("cp1251")
    assert decode(russian).text.endswith("скачать образец заявления"), "most of it is in ASCII"


def test_an_encoding_that_is_told_late_is_believed_and_one_in_a_script_is_not() -> None:
    script = b"<script>x = '<meta charset=koi8-r>'</script>"
    late = b"<link href=x>" * 200 + script + "<meta charset=iso-8859-2>łódź".encode("iso-8859-2")
    assert decode(late)[1:] == ("iso-8859-2", "meta")
    assert decode(late).text.endswith("łódź")


def test_a_few_broken_bytes_do_not_turn_utf8_over() -> None:
    raw = ("ü" * 2000).encode() + b"\xff"
    assert decode(raw, "text/html; charset=utf-8").text == "ü" * 2000 + "\ufffd"


def test_every_name_has_a_codec_and_is_its_own_label() -> None:
    assert [name for name in _CODEC_BY_NAME if find_encoding(name) != name] == []
    assert all(codecs.lookup(codec) for codec in _CODEC_BY_NAME.values())


@given(st.binary(max_size=500), st.sampled_from(["", *(f"text/html; charset={name}" for name in _CODEC_BY_NAME)]))
def test_any_bytes_give_a_text(raw: bytes, header: str) -> None:
    decode(raw, header).text.encode()  # no lone surrogate
