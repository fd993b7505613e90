"""Addresses that a run leaves out are counted by rule, and together beyond a number of rules."""

from windrow.engine.crawl.left_out import MAX_RULES, LeftOutCounter
from windrow.ledger.sessions import OTHER_RULES
from windrow.reasons import Reason


def test_a_known_rule_is_counted_separately_when_there_are_many_rules():
    counter = LeftOutCounter()
    for rule in [f"rule {number}" for number in range(MAX_RULES)] + ["rule 7", "a new rule"]:
        counter.add(Reason.NOT_WANTED, rule, 2, "https://a.example/")
    assert counter._counts[Reason.NOT_WANTED, "rule 7"] == (4, "https://a.example/")
    assert counter._counts[Reason.NOT_WANTED, OTHER_RULES] == (2, "https://a.example/")
    assert len(counter._counts) == MAX_RULES + 1
