"""The second judgement uses the first one's scores of a block's surroundings."""

from __future__ import annotations

from windrow.content.features import Features
from windrow.content.likelihoods import LIKELIHOOD_FEATURES, Likelihoods
from windrow.content.measures import OUTSIDE_GRADE, measure_page
from windrow.content.page import read_page
from windrow.content.traits import PageTraits

HTML = "<nav>menu</nav><div><p>one two three<p>four</div><div>five</div>"
LIKELY = [1.0, 0.0, 0.5]


def features() -> dict[str, list[int]]:
    likelihoods = Likelihoods(measure_page(read_page(HTML.encode()).outline, PageTraits()), LIKELY)
    return {name: list(feature(likelihoods)) for name, feature in LIKELIHOOD_FEATURES.items()}


def test_the_navigation_is_not_judged_and_edges_are_told_apart() -> None:
    grades = features()
    assert grades["likely"] == [51, 1, 26]
    assert grades["likely +1"] == [1, 26, 0]
    assert grades["likely -2"] == [0, 0, 51]


def test_means_weigh_blocks_by_their_words() -> None:
    grades = features()
    assert grades["likely box 1"] == [39, 39, 36]  # 3 of 4 words; of the page, 3.5 of 5
    assert grades["likely page"] == [36] * 3
    assert grades["likely near"] == [36] * 3
    assert grades["likely most"] == [51] * 3
    assert grades["likely path"] == [39, 39, 26]


def test_the_box_of_the_text_tells_what_stands_before_and_behind_it() -> None:
    page = read_page(b"<p>head<div><p>one two three four<p>five six seven</div><p>tail<p>end").outline
    likelihoods = Likelihoods(measure_page(page, PageTraits()), [0.1, 0.9, 0.8, 0.3, 0.0])
    grades = {name: list(feature(likelihoods)) for name, feature in LIKELIHOOD_FEATURES.items()}
    assert grades["side 0.8"] == [1, 0, 0, 2, 2]
    assert grades["behind 0.8"] == [0, 0, 0, 1, 2]
    assert grades["apart 0.8"] == [1, 0, 0, 1, 1]


def test_what_was_heard_is_added_to_the_traits() -> None:
    page = Features(measure_page(read_page(HTML.encode()).outline, PageTraits()))
    page.add_likelihoods(LIKELY)
    assert list(page.column("likely")) == [51, 1, 26]
    assert list(page.column("words")) == [3, 1, 1]


def test_no_path_is_that_of_a_block_outside_the_page() -> None:
    page = read_page("".join(f"<div class=c{number}><p>words</div>" for number in range(127)).encode()).outline
    assert page.boxes.path[page.blocks.box[-1]] == OUTSIDE_GRADE
    assert Features(measure_page(page, PageTraits())).of_block("same +1")[-1] == 0
