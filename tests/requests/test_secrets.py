"""Secrets of sources and services: sent where they belong, and stored nowhere."""

import base64
import gzip
import html
import json
import re
from contextlib import closing
from dataclasses import replace
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.requests.workshop import SERVICE, Workshop, collection, send_parts
from windrow.engine.sample import sample_address
from windrow.errors import ConfigError, TerminalFailure
from windrow.fetch.secret import HidingSink, SentSecrets
from windrow.model import Allowed, Credential, Limits, Secret, Site, Source
from windrow.settings.configuration import credentials_of

KEY, TOKEN = "k-3y/with+signs=&", "t0ken-of-the-service"


def read_all_files(folder):
    """Return the bytes of all files below a folder, and the unpacked bytes of compressed ones."""
    contents = b""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            contents += content + (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else b"")
    return contents


def answer_with_key(asked):
    """Serve pages to clients with the key; each answer repeats it, as many APIs do in their links."""
    url = urlsplit(asked.path)
    if parse_qs(url.query).get("api_key") != [KEY]:
        return 403, b"no key", {}
    echoed = {"Link": f"</?{url.query}>; rel=self", "X-Key": KEY}
    if url.path == "/":
        return 200, b"a\nb", echoed
    return 200, f"{url.path} {json.dumps(KEY)} {url.query}".encode(), echoed


def answer_with_token(asked):
    if asked.fields.get("authorization") != f"Bearer {TOKEN}":
        return 401, b"", {}
    return 200, f"heard from {TOKEN}: {asked.fields['accept-encoding']}".encode(), {"X-Token": TOKEN}


def test_secrets_reach_the_source_and_the_service_and_stay_nowhere(tmp_path, serve):
    (tmp_path / "outside").mkdir()
    root = tmp_path / "workspace"
    root.mkdir()
    (tmp_path / "outside" / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "outside" / "key").write_text(KEY)
    declared = replace(SERVICE, secret="workshop.token", secret_header="Authorization", secret_prefix="Bearer ")
    api, service = serve(answer_with_key), serve(answer_with_token)
    shop = Workshop(
        root, api, service, collection(send_parts, declared), f'secret = "file:{tmp_path}/outside/key"',
        'secret_query = "api_key"', section=f'token = "file:{tmp_path}/outside/token"',
    )  # fmt: skip
    shop.run()
    assert shop.records()["a"]["body"] == f"heard from {'x' * len(TOKEN)}: identity"
    assert [request.path for request in api.asked if request.path.startswith("/robots")] == ["/robots.txt"]
    contents = read_all_files(root)
    assert b"heard from xxxx" in contents
    assert b'/a "xxxxxxxx' in contents
    for word in (KEY, KEY.replace("/", "%2F"), "k-3y%2Fwith%2Bsigns%3D%26", "k-3y", TOKEN):
        assert word.encode() not in contents, word
    shown_settings = "".join(f"{setting.name} {setting.shown}\n" for setting in shop.workspace.values)
    assert f"file:{tmp_path}/outside/key" in shown_settings + repr(shop.workspace.sources)
    with closing(shop.ledger()) as ledger:
        story = shop.adapter.explain(shop.workspace, ledger, f"{api.url}a")
    assert KEY not in repr(story)
    parts = list(shop.adapter.try_address(shop.workspace, f"{api.url}a"))
    assert parts
    assert KEY not in repr(parts)


def test_what_comes_compressed_unasked_with_the_secret_in_it_is_not_kept(tmp_path, serve):
    (tmp_path / "token").write_text(TOKEN)
    root = tmp_path / "workspace"
    root.mkdir()
    body = gzip.compress(f"{TOKEN} is what you sent".encode())
    api = serve(lambda asked: (200, body, {"Content-Encoding": "gzip"}))
    secret = (f'secret = "file:{tmp_path}/token"', 'secret_header = "X-Token"')
    Workshop(root, api, serve(answer_with_token), collection(send_parts), *secret).run()
    assert api.asked[1].fields["x-token"] == TOKEN
    assert TOKEN.encode() not in read_all_files(root)
    assert b"compressed, although that was not requested" in read_all_files(root)


def test_a_secret_that_is_missing_fails_the_source_and_names_its_place_alone(tmp_path, serve):
    api = serve(answer_with_key)
    shop = Workshop(
        tmp_path,
        api,
        serve(answer_with_token),
        collection(send_parts),
        'secret = "env:NO_SUCH_NAME"',
        'secret_header = "X"',
    )
    shop.run()
    assert [request.path for request in api.asked] == ["/robots.txt"]
    assert b"the secret at env:NO_SUCH_NAME cannot be read" in read_all_files(tmp_path)


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"secret_header": "A", "secret_query": "b"}, "either `secret_header` or `secret_query`"),
        ({"secret_header": "Host"}, "`secret_header`: 'Host' cannot be used as the header for a secret"),
        ({"secret_header": "a b"}, "`secret_header`: 'a b' cannot be used as the header for a secret"),
        ({"secret_query": "a&b"}, "`secret_query` may contain only letters, digits and . _ ~ -"),
        ({"secret_query": "key", "secret_prefix": "Bearer "}, "`secret_prefix` needs a header"),
        ({"secret_prefix": "Bearer "}, "either `secret_header` or `secret_query`"),
    ],
)
def test_where_a_secret_goes_is_said_once_and_well(settings, wrong):
    with pytest.raises(ConfigError, match=wrong):
        credentials_of(Secret("env:A"), **settings)


@pytest.mark.parametrize("name", ["secret_header", "secret_query", "secret_prefix"])
def test_a_setting_of_a_secret_without_the_secret_is_refused(name):
    with pytest.raises(ConfigError, match=f"`secret` is not set, but `{name}` is"):
        credentials_of("", **{name: "Bearer "})


def test_a_secret_goes_over_https_or_stays_on_this_machine(monkeypatch):
    monkeypatch.setenv("A", "secret!")
    with pytest.raises(TerminalFailure, match="over https"):
        SentSecrets(Site("http", "api.example"), [Credential(Secret("env:A"), "X-Key")])
    assert "secret!" not in repr(SentSecrets(Site("https", "api.example"), [Credential(Secret("env:A"), "X-Key")]))


@pytest.mark.parametrize("credentials", [(), (Credential(Secret("env:A"), "X-Key"),)])
def test_a_trial_at_another_origin_of_a_source_sends_none_of_its_secrets(monkeypatch, serve, credentials):
    monkeypatch.setenv("A", "secret!")
    own, other = serve(lambda _: (302, b"", {"Location": f"{other.url}b"})), serve(lambda _: (200, b"b", {}))
    port = int(own.url.rpartition(":")[2].strip("/"))
    site = Site("http", "127.0.0.1", port, "me", Secret("env:A"), allowed=Allowed(everything=True))
    answer = sample_address(lambda _: Source("a", "x", site, credentials=credentials), f"{own.url}a", Limits())
    assert (answer.url, answer.body) == (f"{other.url}b", b"b")
    sent = [["authorization" in request.fields, "x-key" in request.fields] for request in (*own.asked, *other.asked)]
    assert sent == [[True, bool(credentials)], [False, False]]


@pytest.mark.parametrize("respell", [
    lambda key: key,
    lambda key: quote(key, safe=""),
    lambda key: re.sub("%..", lambda match: match[0].lower(), quote(key, safe="")),
    lambda key: quote(quote(key, safe=""), safe=""),
    lambda key: "".join(f"%{ord(character):02X}" for character in key),
    lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    lambda key: key.replace("+", "\\u002B").replace("&", "\\u0026").replace("=", "\\u003d"),
    lambda key: json.dumps(json.dumps(key)[1:-1].replace("/", "\\/").replace("&", "\\u0026"))[1:-1],
    lambda key: "".join(f"\\u{ord(character):04x}" for character in key),
    lambda key: html.escape(key).replace("+", "&#43;").replace("/", "&#x2F;"),
    lambda key: html.escape(html.escape(key)),
    lambda key: base64.b64encode(key.encode()).decode(),
    lambda key: quote(base64.b64encode(key.encode()).decode(), safe=""),
])  # fmt: skip
def test_a_secret_is_overwritten_however_it_is_spelled(monkeypatch, respell):
    key = "Ab/cd+Ef==Gh&ij\\k\"l'"
    monkeypatch.setenv("A", key)
    secrets = SentSecrets(Site("https", "api.example"), [Credential(Secret("env:A"), "X-Key")])
    spelled = respell(key).encode()
    assert secrets.hide(b"<" + spelled + b">") == b"<" + b"x" * len(spelled) + b">"
    assert secrets.split(spelled[:-1])[0] == b""


@pytest.mark.parametrize("user", ["", "a:", "ab:", "abc:"])
def test_a_secret_within_base64_is_overwritten(monkeypatch, user):
    monkeypatch.setenv("A", "open sesame")
    secrets = SentSecrets(Site("https", "api.example"), [Credential(Secret("env:A"), "X-Key")])
    hidden = secrets.hide(base64.b64encode(f"{user}open sesame".encode()))
    decoded = base64.b64decode(hidden)
    assert b"pen sesam" not in decoded
    assert b"n ses" not in decoded


class BlockSink:
    """A sink that keeps the blocks written to it."""

    start, validator, modified = 0, "", None

    def __init__(self):
        self.blocks = []

    def write(self, block):
        self.blocks.append(bytes(block))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_secret_is_overwritten_however_the_answer_is_cut_and_its_length_stays(monkeypatch, size):
    monkeypatch.setenv("A", "geheim/7")
    secrets = SentSecrets(Site("https", "api.example"), [Credential(Secret("env:A"), "X-Key")])
    text = b"geheim/7geheim/7 geheim geheim%2F7, geheim/7"
    sink = BlockSink()
    hiding = HidingSink(sink, secrets)
    for start in range(0, len(text), size):
        hiding.write(memoryview(text)[start : start + size])
    hiding.end()
    assert b"".join(sink.blocks) == b"xxxxxxxxxxxxxxxx geheim xxxxxxxxxx, xxxxxxxx"
