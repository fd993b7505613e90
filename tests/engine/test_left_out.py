"""Addresses that a run leaves out are counted by rule, and together beyond a number of rules."""

from contextlib import closing

from windrow.collections.news.collection import COLLECTION as NEWS
from windrow.engine.crawl.left_out import MAX_RULES, LeftOutCounter
from windrow.engine.frontier import frontier_of
from windrow.ledger import Ledger
from windrow.ledger.requests import Followed
from windrow.ledger.sessions import OTHER_RULES
from windrow.reasons import Reason


def test_a_known_rule_is_counted_separately_when_there_are_many_rules():
    counter = LeftOutCounter()
    for rule in [f"rule {number}" for number in range(MAX_RULES)] + ["rule 7", "a new rule"]:
        counter.add(Reason.NOT_WANTED, rule, 2, "https://a.example/")
    assert counter._counts[Reason.NOT_WANTED, "rule 7"] == (4, "https://a.example/")
    assert counter._counts[Reason.NOT_WANTED, OTHER_RULES] == (2, "https://a.example/")
    assert len(counter._counts) == MAX_RULES + 1


def test_what_a_rule_left_out_of_a_list_counts_until_a_later_list_was_followed(tmp_path):
    """Status named articles before `since` after the setting was changed and nothing was left out any more."""
    counter = LeftOutCounter()
    counter.add(Reason.NOT_WANTED, "it is before `since` or after `until`", 3, "https://a.example/feed")
    counter.add(Reason.BAD_ADDRESS, "it is not an address", 1, "https://a.example/feed")
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        counts = []
        for follows in (False, True):
            with ledger.writing() as writer:
                session = writer.sessions.open("test", "run")
                if follows:
                    writer.requests.record_followed("news", "g", Followed(session, 0, 0, 0, None, "", "[]", 0.0))
                else:
                    counter.record(writer, session, "news", "g", 1)
            counts.append({count.reason for count in frontier_of(ledger, NEWS).left_out("g", ())})
    assert counts == [{"not_wanted", "bad_address"}, {"bad_address"}]
