"""Recognise a page that a server sends with status 200 instead of the document that was requested.

Such a page states that the document was not found (a soft 404), asks for consent to cookies, or asks for proof that a
person requested it. It is recognised if a whole part of its title or headline is one of the usual phrases; a soft 404
is also recognised by a sentence in a very short text. A page with a long text is not recognised: it may be an article
about consent or missing pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from windrow.reasons import Reason

_MAX_NOT_FOUND_CHARACTERS = 4_000  # of the main content of a soft 404, which may list other pages
_MAX_GATE_CHARACTERS = 1_500  # of the main content of a page that asks for consent or for proof
_MAX_SENTENCE_CHARACTERS = 600  # of a main content that is judged by a sentence in it
_MAX_TITLE_CHARACTERS = 200

_TITLE_GAP = re.compile(r"\s+[|\u2013\u2014·•»\u203a:-]{1,2}\s+|\s*[|»]\s*")
_NOT_A_WORD = re.compile(r"[\W_]+")

_OPENING_WORDS = (
    r"(?:(?:http|status|error|fehler|erreur|errore|erro|fout|fel|fejl|feil|virhe|404|oops|ooops|whoops|ups|hoppla"
    r"|sorry|we re sorry|entschuldigung|leider|désolé|lo sentimos|uh oh|oh no) )*"
)
_THE_PAGE = r"(?:(?:the|this|that) )?(?:requested )?(?:page|url|file|document|article|story|post|content|resource)"
_NOT = r"(?:(?:was|is|could|can|has) )?(?:not|cannot|can t|couldn t|wasn t)"
_DIE_SEITE = r"(?:(?:die|diese|der|dieser|das|dieses) )?(?:(?:angeforderte|gesuchte|gewünschte) )?(?:seite|inhalt)"
_NOT_FOUND_PHRASES = (
    "(?:http |status )?404",
    "404 (?:error|fehler|page|seite)",
    f"(?:{_THE_PAGE}(?: you (?:requested|(?:are|were) looking for))? )?{_NOT}(?: be| been)? found",
    "nothing (?:was )?found",
    f"{_THE_PAGE}(?: is| has been)? (?:no longer available|not available|unavailable|removed|deleted)",
    f"{_THE_PAGE} (?:doesn t exist|does not exist|no longer exists)",
    f"{_DIE_SEITE}(?: wurde| konnte| ist)? nicht(?: mehr)? (?:gefunden(?: werden)?|vorhanden|verfügbar)",
    f"{_DIE_SEITE} existiert nicht(?: mehr)?",
    "(?:(?:artikel|beitrag|dokument|datei)(?: wurde| ist)? )?nicht(?: mehr)? (?:gefunden|vorhanden|verfügbar)",
    "(?:(?:la|cette) )?(?:page|article)(?: demandée?)? (?:non trouvée?|introuvable|inexistante?|n existe (?:pas|plus))",
    "(?:la )?página(?: solicitada)? (?:no (?:encontrada|existe|disponible)|não encontrada)",
    "no encontrad[oa]",
    "não encontrad[oa]",
    "(?:la )?pagina (?:non (?:trovata|esiste|disponibile)|inesistente|nu a fost găsită)",
    "(?:(?:deze|de) )?pagina (?:niet gevonden|bestaat niet(?: meer)?|kan niet (?:worden )?gevonden(?: worden)?)",
    "niet gevonden",
    "sidan (?:kunde inte hittas|hittades inte|finns inte)",
    "siden (?:blev ikke fundet|ikke fundet|findes ikke|kunne ikke findes|ble ikke funnet|finnes ikke)",
    "sivua ei (?:löydy|löytynyt)",
    "nie znaleziono(?: strony)?",
    "strona nie (?:została znaleziona|istnieje)",
    "stránka (?:nenalezena|nebyla nalezena|neexistuje|sa nenašla)",
    "az? oldal nem található",
    "страница не найдена",
    "сторінку не знайдено",
    "sayfa bulunamad\u0131",
    "η σελίδα δεν βρέθηκε",
    "ページが見つかりません(?:でした)?",
    "お探しのページは見つかりませんでした",
    "页面不存在|页面未找到|找不到(?:该)?页面",
    "頁面不存在|找不到網頁",
    "페이지를 찾을 수 없습니다",
)
_CONSENT_PHRASES = (
    "before you continue(?: to .{1,30})?",
    "(?:we value|we care about|we respect) your privacy",
    "your privacy(?: matters| choices| settings)?",
    "cookie (?:consent|settings|einstellungen)",
    "privacy settings",
    "(?:please )?accept (?:our )?cookies",
    "bevor (?:sie|du) (?:fortfahren|fortfährst|weiterlesen|weiterliest|zu .{1,30})",
    "datenschutz ?einstellungen",
    "(?:ihre )?einwilligung (?:zu cookies|erforderlich)",
    "zustimmung erforderlich",
    "wir (?:schätzen|respektieren|achten) ihre privatsphäre",
    "avant de continuer(?: vers .{1,30})?",
    "nous respectons votre vie privée",
    "gestion des cookies",
    "antes de continuar(?: a .{1,30})?",
    "je privacy ?instellingen",
    "cookies toestaan",
    "we gebruiken cookies",
)
_GATE_PHRASES = (
    "(?:just a|one) moment(?: please)?",
    "attention required(?: cloudflare)?",
    "access (?:denied|to this page has been denied)",
    "are you (?:a )?(?:robot|human)",
    "robot or human",
    "(?:please )?(?:verify|confirm) (?:that )?you are (?:a )?human",
    "pardon our interruption",
    "checking your browser(?: before .{1,60})?",
    "bot verification",
    "human verification",
    "ddos guard",
    "request unsuccessful",
    "javascript is (?:disabled|required|not enabled)",
    "(?:please )?(?:enable|turn on) (?:javascript|js)(?: and cookies)?(?: to (?:continue|proceed))?",
)
_SENTENCES = re.compile(
    r"(?:page|article|document|file|content|story) (?:that )?you (?:are looking for|were looking for|requested"
    r"|have requested|tried to (?:reach|open)).{0,80}(?:not (?:be )?found|t be found|t exist|not exist|no longer"
    r"|been (?:moved|removed|deleted)|not available|unavailable)"
    r"|(?:gesuchte|angeforderte|gewünschte|aufgerufene) (?:seite|artikel|inhalt|beitrag).{0,80}nicht"
    r"|page (?:que vous (?:recherchez|demandez|cherchez|avez demandée)|demandée).{0,80}(?:n existe|introuvable|trouvée)"
    r"|página (?:que (?:buscas|busca|estás buscando|solicita)|solicitada).{0,80}(?:no existe|no se)"
    r"|pagina (?:che (?:cerchi|stai cercando|hai richiesto)|richiesta).{0,80}(?:non|rimossa)"
    r"|pagina die (?:je|u) (?:zoekt|probeert te openen).{0,80}niet"
)


_KINDS = {
    Reason.SOFT_404: (_NOT_FOUND_PHRASES, _MAX_NOT_FOUND_CHARACTERS),
    Reason.CONSENT_PAGE: (_CONSENT_PHRASES, _MAX_GATE_CHARACTERS),
    Reason.BOT_WALL: (_GATE_PHRASES, _MAX_GATE_CHARACTERS),
}
"""The phrases of each kind of page, and the maximum number of characters of its main content."""
_PHRASE_GROUPS = "|".join(f"(?P<{reason}>{'|'.join(phrases)})" for reason, (phrases, _) in _KINDS.items())
_PHRASES = re.compile(f"{_OPENING_WORDS}(?:{_PHRASE_GROUPS})(?: (?:404|error|sorry))*")


def recognise_substitute(titles: Iterable[str], text: str) -> Reason | None:
    """Return SOFT_404, CONSENT_PAGE or BOT_WALL for a page that is not the requested document, or None.

    `titles` are the page's title and its headline or first block. `text` is its main content.

    >>> recognise_substitute(["Page not found | The Gazette"], "Try the search.")
    <Reason.SOFT_404: 'soft_404'>
    >>> recognise_substitute(["Page not found: how the archive lost its maps"], "The maps ...") is None
    True
    """
    if len(text) > _MAX_NOT_FOUND_CHARACTERS:
        return None
    is_long = len(text) > _MAX_SENTENCE_CHARACTERS  # then the number 404 alone is a name, such as that of a car
    for title in titles:
        for part in _TITLE_GAP.split(title[:_MAX_TITLE_CHARACTERS]):
            match = _PHRASES.fullmatch(words := _plain_words(part))
            if match and len(text) <= _KINDS[Reason(str(match.lastgroup))][1] and not (words == "404" and is_long):
                return Reason(str(match.lastgroup))
    if not is_long and _SENTENCES.search(_plain_words(text)):
        return Reason.SOFT_404
    return None


_CONSENT_TERMS = tuple(map(re.compile, (
    r"\bcookies?\b", r"\b(?:consent|zustimm|einwillig|consentement|consentimiento|consenso|toestemming)",
    r"\b(?:partners?|partnern|vendors|third part|dritt|partenaires|socios)", r"\bprivacy|\bdatenschutz|confidentialité",
    r"\b(?:your|ihrem|votre|tu|su|je|uw) (?:device|browser|gerät|\w+pareil|\w+paraat|navegador|dispositivo)",
    r"\bpersonal ?(?:data|i[sz]ed)|personenbezogen|personalisiert|données personnelles|datos personales",
    r"\b(?:legitimate interest|berechtigt\w* interesse|intérêt légitime)",
    r"\b(?:accept|agree|reject|decline|akzeptier|ablehnen|accepte|refuse|acepta|rechaza)",
)))  # fmt: skip
_WE = re.compile(r"\b(?:we|our|us|wir|unsere?|nous|nos|nosotros|nuestr[oa]s?|wij|onze)\b")
_YOU = re.compile(r"\b(?:you|your|sie|ihre?[mnrs]?|du|dein\w*|vous|votre|vos|usted|su|tu|je|uw)\b")
_MIN_CONSENT_TERMS = 4


def asks_for_consent(text: str) -> bool:
    """Return whether `text`, the main content of a page, asks for consent to cookies.

    A request for consent is short, has several of the usual terms, and has words for "we" and "you".

    >>> asks_for_consent("With your consent, we and our partners use cookies for personalised ads on your device.")
    True
    >>> asks_for_consent("The court ruled that sites need consent for cookies of partners, and privacy must be kept.")
    False
    """
    if len(text) > _MAX_GATE_CHARACTERS:
        return False
    words = _plain_words(text)
    count = sum(term.search(words) is not None for term in _CONSENT_TERMS)
    return count >= _MIN_CONSENT_TERMS and bool(_WE.search(words) and _YOU.search(words))


def _plain_words(text: str) -> str:
    return _NOT_A_WORD.sub(" ", text.casefold()).strip()
