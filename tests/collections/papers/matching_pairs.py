"""Pairs of a paper as an extractor reads it and a work as a catalogue has it, and whether they are the same.

The titles and names are invented. Each kind of pair changes the paper, or the work, in a way that metadata of publishers
and of PDFs differ; the last kinds are of works that only look alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

WORKS = [
    ("Efficient flow of \u03b2-catenin in the first fibroblasts", "a field study", ["Anna Berger", "Luís Ferreira da Silva"]),
    ("Oxygen transfer in \u03b1-Fe2O3 bubble columns under reflux", "a coefficient of mass", ["Ana Ferreira", "Pedro Cardoso"]),
    ("Insulin signalling & muscle: what has changed", "evidence from two cohorts", ["Richard Mackenzie"]),
    ("Non-linear waves in a shallow basin of variable depth", "numerical results", ["Jean-Pierre Dupont", "Wei Zhang"]),
    ("Migration and memory in the cities of the lower Danube", "an oral history", ["Ioana Popescu"]),
    ("Effects of \u03b3-radiation on the fixation of nitrogen", "laboratory findings", ["Suharto", "Budi Santoso"]),
    ("The politics of water in arid regions of the south", "a comparison", ["María José García Pérez"]),
    ("A statistical model for the diffusion of small firms", "theory and evidence", ["Søren Kjær", "Jan Nielsen"]),
    ("Classification of soils by reflectance at low cost", "methods and limits", ["Chidi Okafor", "Ngozi Eze"]),
    ("Sediment cores and the flood record of a coastal lake", "the last millennium", ["Kenji Tanaka", "Yuki Mori"]),
    ("Learning to read in two scripts: a longitudinal view", "results after six years", ["Leila Haddad"]),
    ("Rapid identification of affine structures in proteins", "an efficient algorithm", ["Olga Petrova", "Ivan Sokolov"]),
    ("Public trust and the regulation of new medicines", "lessons from five agencies", ["Thomas O'Neill"]),
    ("Coral growth near river mouths after heavy rainfall", "a survey of twelve reefs", ["Mele Tupou", "Sione Fifita"]),
    ("Low temperature magnetoresistance of thin Ni films", "thickness dependence", ["Ravi Kumar", "Priya Nair"]),
    ("The grammar of politeness in three island languages", "a corpus study", ["Hana Nováková"]),
    ("Unemployment benefits and the timing of retirement", "a natural experiment", ["Katrin Müller", "Jörg Weiß"]),
    ("On the spectral gap of random regular hypergraphs", "upper bounds", ["László Szabó", "Eszter Kiss"]),
    ("Dietary fibre and the gut flora of adolescent girls", "a controlled trial", ["Grace Mwangi", "Peter Otieno"]),
    ("Visual search for conjunctions in cluttered scenes", "the role of practice", ["Emily Hart", "Noah Stein"]),
    ("Thermal comfort in naturally ventilated classrooms", "measurements in winter", ["Rosa Conti"]),
    ("Early printing and the market for school books", "prices and readers", ["Willem van den Berg"]),
    ("Phosphorus losses from grazed hillsides in spring", "the effect of slope", ["Fiona McLeod", "Ian Stewart"]),
    ("Simulation of crowd motion at narrow exit doors", "a cellular approach", ["Ahmed El-Sayed", "Omar Farouk"]),
]  # fmt: skip


class Pair(NamedTuple):
    """A paper (title, authors, year), a work (title, authors, year), and whether the work is the paper's."""

    kind: str
    paper: tuple[str, list[str], int | None]
    work: tuple[str, list[str], int]
    is_same: bool


def _initials(name: str) -> str:
    *given, family = name.split()
    return " ".join([*(f"{word[0]}." for word in given), family])


def _family_first(name: str) -> str:
    *given, family = name.split()
    return f"{family}, {' '.join(given)}" if given else family


def _catalogue_style(name: str) -> str:
    *given, family = name.split()
    return f"{family} {''.join(word[0] for word in given)}".strip()


def _lose_letter(title: str) -> str:
    middle = len(title) // 2
    while not title[middle].isalpha():
        middle += 1
    return title[:middle] + title[middle + 1 :]


def _lose_ligatures(title: str) -> str:
    for letters in ("ffi", "ffl", "ff", "fi", "fl"):
        title = title.replace(letters, "")
    return title


def _with_ligatures(title: str) -> str:
    return title.replace("ffi", "\ufb03").replace("ff", "\ufb00").replace("fi", "\ufb01").replace("fl", "\ufb02")


def _spell_greek(title: str) -> str:
    return title.replace("\u03b1", "alpha").replace("\u03b2", "beta").replace("\u03b3", "gamma")


def _with_markup(title: str) -> str:
    return f"<i>{title.replace('Fe2O3', 'Fe<sub>2</sub>O<sub>3</sub>').replace('&', '&amp;')}</i>"


def _with_odd_spaces(title: str) -> str:
    middle = len(title) // 2
    return (
        title[:middle].replace(" ", "\u00a0").replace("-", "\u2010") + "\u00ad" + title[middle:].replace(" ", "\u2009")
    )


def _given(name: str, given: str) -> str:
    return f"{given} {name.rsplit(maxsplit=1)[-1]}"


SAME: dict[str, Callable[[str, str, list[str]], tuple[tuple[str, list[str]], tuple[str, list[str]]]]] = {
    "as it is": lambda title, sub, names: ((title, names), (title, names)),
    "initials": lambda title, sub, names: ((title, [*map(_initials, names)]), (title, names)),
    "family first": lambda title, sub, names: ((title, [*map(_family_first, names)]), (title, names)),
    "style of catalogues": lambda title, sub, names: ((title, names), (title, [*map(_catalogue_style, names)])),
    "first author only": lambda title, sub, names: ((title, names[:1]), (title, names)),
    "ligatures": lambda title, sub, names: ((_with_ligatures(title), names), (title, names)),
    "ligatures lost": lambda title, sub, names: ((_lose_ligatures(title), names), (title, names)),
    "one letter lost": lambda title, sub, names: ((_lose_letter(title), names), (title, names)),
    "Greek spelled out": lambda title, sub, names: ((title, names), (_spell_greek(title), names)),
    "markup": lambda title, sub, names: ((title, names), (_with_markup(title), names)),
    "odd spaces": lambda title, sub, names: ((_with_odd_spaces(title), names), (title, names)),
    "subtitle in the work": lambda title, sub, names: ((title, names), (f"{title}:{sub}", names)),
    "subtitle in the paper": lambda title, sub, names: ((f"{title} \u2013 {sub}", names), (title, names)),
    "subtitle in both": lambda title, sub, names: ((f"{title}. {sub}", names), (f"{title}: {sub}", names)),
    "upper case": lambda title, sub, names: ((title.upper(), [name.upper() for name in names]), (title, names)),
}
OTHER: dict[str, Callable[[str, str, list[str]], tuple[tuple[str, list[str]], tuple[str, list[str]]]]] = {
    "another given name": lambda title, sub, names: (
        (title, [_given(name, "Zoltan") for name in names]),
        (title, names),
    ),
    "another initial": lambda title, sub, names: ((title, [_given(name, "X.") for name in names]), (title, names)),
    "other authors": lambda title, sub, names: ((title, ["Quentin Unknown"]), (title, names)),
    "another part": lambda title, sub, names: ((f"{title} II", names), (f"{title} I", names)),
    "another number": lambda title, sub, names: ((f"{title}, part 2", names), (f"{title}, part 3", names)),
    "a reply to it": lambda title, sub, names: ((title, names), (f"{title}: reply to the comments", names)),
    "another subtitle": lambda title, sub, names: ((f"{title}: {sub}", names), (f"{title}: a second look", names)),
    "ten years later": lambda title, sub, names: ((title, names), (title, names)),
}


def pairs() -> Iterator[Pair]:
    """Yield every work in every kind of pair."""
    for number, (title, subtitle, names) in enumerate(WORKS):
        year = 1990 + number
        for kind, change in SAME.items():
            (paper_title, paper_names), work = change(title, subtitle, names)
            yield Pair(kind, (paper_title, paper_names, year if number % 3 else None), (*work, year), True)
        for kind, change in OTHER.items():
            if kind.startswith("another ") and kind.endswith(("name", "initial")) and " " not in names[0]:
                continue  # a name of one word has no given name
            (paper_title, paper_names), work = change(title, subtitle, names)
            later = year + 10 if kind == "ten years later" else year
            yield Pair(kind, (paper_title, paper_names, later), (*work, year), False)
