"""The store of JSON records: what stands beside a value makes no version by itself."""

from datetime import UTC, datetime

from windrow.contract import Observation, Observed
from windrow.stores.records import RecordStore


def said(visit, value, aside):
    at = datetime(2026, 1, visit, tzinfo=UTC)
    return Observed(visit, at, "http://a.example/", "a", (Observation("k", value, "text", aside=aside),))


def test_what_stands_aside_is_kept_as_it_was_first_seen_and_makes_no_version(tmp_path):
    store = RecordStore(tmp_path / "a.db")
    store.settle([said(1, {"n": 1}, {"markup": "<b>1</b>"}), said(2, {"n": 1}, {"markup": "<i>1</i>"})], 2)
    store.settle([said(3, {"n": 2}, {"markup": "<i>2</i>"})], 3)
    assert [(one.change, one.aside) for one in store.history("k")] == [
        ("new", '{"markup": "<b>1</b>"}'),
        ("same", '{"markup": "<b>1</b>"}'),
        ("changed", '{"markup": "<i>2</i>"}'),
    ]
    assert store.touched(1, 2) == ["k"]
    assert store.touched(3, 9) == []
    assert not list(store.faults())
    store.close()
