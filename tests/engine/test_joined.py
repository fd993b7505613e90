from windrow.collections.drops.collection import COLLECTION
from windrow.contract import Check, Judge, Load, Read, Summarise
from windrow.engine.steps.joined import joined

UNZIP, XSD, UPLOAD, DATA, CONTEXT, OVERVIEW = COLLECTION.steps


def test_only_loading_and_judging_are_taken_in_one_job():
    assert [type(one) for one in (UNZIP, XSD, UPLOAD, DATA, CONTEXT)] == [Read, Check, Load, Judge, Summarise]
    assert list(joined(COLLECTION.steps, store=True)) == [UNZIP, XSD, (UPLOAD, DATA), CONTEXT, OVERVIEW]


def test_a_run_that_takes_only_one_of_both_takes_it_alone():
    assert list(joined([UNZIP, XSD, UPLOAD], store=True)) == [UNZIP, XSD, UPLOAD]
    assert list(joined([DATA, CONTEXT], store=True)) == [DATA, CONTEXT]
    assert list(joined([UPLOAD, CONTEXT], store=True)) == [UPLOAD, CONTEXT]


def test_without_a_store_every_step_is_alone():
    assert list(joined(COLLECTION.steps, store=False)) == list(COLLECTION.steps)
