import pytest

from windrow.errors import ConfigError
from windrow.fetch.politeness.user_agent import user_agent
from windrow.formats.robots import product_token


def test_the_pattern():
    agent = user_agent("example", "https://example.org/bot")
    assert agent == "example-crawler (for https://example.org/bot)"
    assert product_token(agent) == "example-crawler"
    assert user_agent("my-2nd.archive", "crawl@example.org").endswith("(for crawl@example.org)")


@pytest.mark.parametrize("operator", ["", " ", "a b", "a\r\nX: y", "\u00e9t\u00e9", "a/b", "(a)", "a" * 50, "*", "1a"])
def test_without_an_operator_nothing_is_crawled(operator):
    with pytest.raises(ConfigError) as caught:
        user_agent(operator, "https://example.org/")
    assert caught.value.hint


@pytest.mark.parametrize(
    "contact",
    ["", "me", "me@", "@example.org", "https://", "http://localhost/", "http://127.0.0.1/", "ftp://example.org/",
     "https://example.org/ x", "https://example.org/\r\nX: y", "https://example.org/)", "me@localhost", "https://[::1]/"],
)  # fmt: skip
def test_without_a_contact_nothing_is_crawled(contact):
    with pytest.raises(ConfigError):
        user_agent("example", contact)


def test_an_own_text():
    own = "ExampleBot/2.0 (+https://example.org/bot; crawl@example.org)"
    assert user_agent("", "", own) == own
    assert user_agent("", "", "bot mailto:crawl@example.org") == "bot mailto:crawl@example.org"
    for wrong in (
        "ExampleBot/2.0",
        "(https://example.org/)",
        "bot\nhttps://example.org/",
        "bot h\u00e9 a@b.org",
        "b " + "x" * 300,
    ):
        with pytest.raises(ConfigError):
            user_agent("example", "https://example.org/", wrong)
