"""The configuration as a whole: layers, origins, refusals."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import make_url

from windrow.app import Windrow
from windrow.collections.drops.adapter.harvest import read_resources
from windrow.collections.drops.settings import Drops
from windrow.config import declared_settings, default_toml, find_workspace, load, settings_of_sources, trust
from windrow.contract import registry
from windrow.errors import ConfigError, NotAWorkspace
from windrow.model import Limits, Secret
from windrow.settings.kinds import file_of, read_duration, read_size, show_duration, show_size
from windrow.settings.setting import Setting, variable_name

SETTINGS = declared_settings()
SOURCE_SETTINGS = settings_of_sources(registry.installed())
KEY = "SHA256:" + "A" * 43


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "windrow.toml").write_text("")
    (tmp_path / "there.txt").write_text("x")
    return tmp_path.resolve()


def source(root: Path, text: str, name: str = "H-main") -> None:
    (root / "sources").mkdir(exist_ok=True)
    (root / "sources" / f"{name}.toml").write_text(f'collection = "drops"\n{text}')


def test_a_file_of_a_source_may_end_in_upper_case(root):
    source(root, 'url = "https://partner.example/"')
    (root / "sources" / "H-main.toml").rename(root / "sources" / "H-main.TOML")
    assert [configured.name for configured in load(root, environ={}).sources] == ["H-main"]


def another_value(setting: Setting) -> tuple[str, str]:
    """Return a value that is not the default, as written in TOML and in the environment."""
    noun = setting.kind.noun
    words = [word.strip() for word in noun.replace(" or ", ",").split(",")]
    if setting.default in words or "empty" in words:  # a choice: another of its words
        word = next(word for word in words if word not in {setting.default, "empty"})
        return f'"{word}"', word
    if setting.default is False:
        return "true", "yes"
    if noun.startswith("a whole number"):
        return "7", "7"
    if noun in {"path", "path or nothing"}:
        return '"there.txt"', "there.txt"
    known = {
        "true or false": ("false", "no"),
        "size": ('"5 MB"', "5 MB"),
        "duration": ('"5 min"', "5min"),
        "part": ('"2/8"', "2/8"),
        "place of a secret": ('"env:PLACE"', "env:PLACE"),
        "address without a password": ('"http://proxy:8080"', "http://proxy:8080"),
        "path or database address": ('"mysql+pymysql://u@h/d"', "mysql+pymysql://u@h/d"),
        "list of addresses without a password": ('["https://a.example/x/"]', "https://a.example/x/"),
        "path or address without a password": ('"http://proxy:8080"', "http://proxy:8080"),
        "command": ('"mail -s hello me"', "mail -s hello me"),
        "list of texts": ('["a", "b"]', "a,b"),
        "any, ipv4 or ipv6": ('"ipv6"', "ipv6"),
        "available, maintenance or removed": ('"removed"', "removed"),
        "regular expression": ('"a.zip"', "a.zip"),
        "list of regular expressions": ('["a.zip", "b"]', "a.zip,b"),
        "text": ('"drops"', "drops"),
        "duration or nothing": ('"5 min"', "5min"),
        "list of addresses": ('["https://a.example/x"]', "https://a.example/x"),
        "list of hosts": ('[".a.example", "b.example"]', ".a.example,b.example"),
        "list of paths": ('["/x"]', "/x"),
        "list of paths and hosts": ('["/x", "a.example/y"]', "/x,a.example/y"),
        "list of rules for query parameters": ('["/x q page"]', "/x q page"),
        "day": ('"2026-07-01"', "2026-07-01"),
        "time zone": ('"Europe/Berlin"', "Europe/Berlin"),
        "table of texts": ('{id = "uid"}', '{"id": "uid"}'),
        "list of tables": (
            '[{since = 2026-07-01, items = "//row"}]',
            '[{"since": "2026-07-01", "items": "//row"}]',
        ),
        "list of hosts and networks": ('["127.0.0.1", "10.1.0.0/16"]', "127.0.0.1,10.1.0.0/16"),
    }
    return known[noun]


def toml(name: str, value: str) -> str:
    table, _, key = name.rpartition(".")
    return f"[{table}]\n{key} = {value}\n" if table else f"{key} = {value}\n"


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_every_setting_by_default_file_environment_and_flag(root: Path, setting: Setting) -> None:
    in_file, in_environment = another_value(setting)
    (default,) = (v for v in load(root, {}).values if v.name == setting.name)
    assert default.origin == "default"
    (root / "windrow.toml").write_text(toml(setting.name, in_file))
    (filed,) = (v for v in load(root, {}).values if v.name == setting.name)
    assert filed.origin == "windrow.toml"
    assert filed.value != default.value
    (root / "windrow.toml").write_text("")
    (setting_value,) = (v for v in load(root, {setting.env: in_environment}).values if v.name == setting.name)
    assert setting_value == filed._replace(origin=f"env {setting.env}")
    environ = {setting.env: "no such value: \x01"}
    (flag,) = (v for v in load(root, environ, {setting.name: in_environment}).values if v.name == setting.name)
    assert flag == filed._replace(origin=flag.origin)
    assert flag.origin.startswith("flag --")


MUST_SAY = {
    "events": {"reader": '"feed"', "timezone": '"Europe/Berlin"', "branch": '"Other"', "entity": '"White House"'}
}
"""The settings that a source of each collection needs beside its address."""

KNOWN_NAMES = {
    "branch": ('"Legislative"', "Legislative"),
    "entity": ('"Senate"', "Senate"),
    "timezone": ('"America/New_York"', "America/New_York"),
    "from": ('["pages", "drops"]', "pages,drops"),
    "feeds": ('["https://other/feed"]', "https://other/feed"),
    "sitemaps": ('["https://other/s.xml"]', "https://other/s.xml"),
    "warc_urls": ('["https://a.example/warcs/", "s3://b/c/"]', "https://a.example/warcs/,s3://b/c/"),
}
"""Values of settings whose words must be known ones."""


@pytest.mark.parametrize(
    ("kind", "setting"),
    [(kind, setting) for kind, known in SOURCE_SETTINGS.items() for setting in known.values()],
    ids=lambda value: getattr(value, "name", value),
)
def test_every_setting_of_a_source(root: Path, kind: str, setting: Setting) -> None:
    in_file, in_environment = another_value(setting)
    scheme = {"drops": "ftp"}.get(kind, "https")
    if setting.name == "url":
        in_file, in_environment = f'"{scheme}://h/"', f"{scheme}://h/"
    if setting.name == "collection":
        in_file, in_environment = f'"{kind}"', kind
    lines = {"url": f'"{scheme}://other/x"', "collection": f'"{kind}"'} | MUST_SAY.get(kind, {})
    if setting.name in {"secret_header", "secret_query", "secret_prefix"}:
        lines["secret"] = '"env:PLACE"'
    if setting.name == "next_page":
        lines["reader"] = '"html"'
    if setting.name == "secret_prefix" and "secret_header" in SOURCE_SETTINGS[kind]:
        lines["secret_header"] = '"X-Key"'
    if setting.name == "secret" and "secret_query" in SOURCE_SETTINGS[kind]:
        lines["secret_query"] = '"key"'
    in_file, in_environment = KNOWN_NAMES.get(setting.name, (in_file, in_environment))
    name = f"source.a-b.{setting.name}"

    def value(environ: dict[str, str]) -> object:
        text = "".join(f"{key} = {text}\n" for key, text in lines.items())
        (root / "windrow.toml").write_text(f"[source.a-b]\n{text}")
        return next(v for v in load(root, environ).values if v.name == name)

    setting_value = value({variable_name(name): in_environment})
    lines[setting.name] = in_file
    filed = value({})
    assert filed.origin == "windrow.toml"  # type: ignore[attr-defined]
    assert setting_value == filed._replace(origin=f"env WINDROW_SOURCE_A_B_{setting.name.upper()}")  # type: ignore[attr-defined]


def test_the_strongest_wins(root: Path) -> None:
    (root / "windrow.toml").write_text("[drops]\nattempts = 4\n")
    env = {"WINDROW_DROPS_ATTEMPTS": "5"}
    assert load(root, {}).sections["drops"].attempts == 4
    assert load(root, env).sections["drops"].attempts == 5
    assert load(root, env, {"drops.attempts": 6}).sections["drops"].attempts == 6
    assert load(root, env, {"drops.attempts": None}).sections["drops"].attempts == 5


def test_attempts_of_a_source(root: Path) -> None:
    source(root, 'url = "ftp://h/"')
    source(root, 'url = "ftp://h/"\nattempts = 9', "own")
    assert [s.attempts for s in load(root, {}).sources] == [3, 9]
    assert [s.attempts for s in load(root, {}, {"drops.attempts": 1}).sources] == [1, 1]


def test_a_source(root: Path) -> None:
    source(
        root,
        'url = "sftp://me@drop.example.org:2222/out/"\ncentre = "H"\nsecret = "file:s/pw"\nssh_key = "env:KEY"\n'
        f'delay = "1 s"\nconnections = 3\nhost_keys = ["ssh-ed25519 {"A" * 40}"]\nca_bundle = "there.txt"\n',
    )
    workspace = load(root, {})
    harwell = workspace.source("H-main")
    assert harwell is not None
    assert workspace.source("x") is None
    site = harwell.site
    assert site.address("add/x.zip") == "sftp://drop.example.org:2222/out/add/x.zip"
    assert (site.username, site.secret, site.key) == ("me", Secret(f"file:{root}/s/pw"), Secret("env:KEY"))
    assert (harwell.owner, harwell.pace, harwell.connections, harwell.active) == ("H", 1.0, 3, True)
    assert site.ca_bundle == str(root / "there.txt")
    assert site.agent.startswith("windrow/")
    assert trust(root, "H-main", KEY)
    assert not trust(root, "H-main", KEY)
    again = load(root, {}).source("H-main")
    assert again is not None
    assert again.site.host_keys == (f"ssh-ed25519 {'A' * 40}", KEY)


def test_states_and_inactive_centres(root: Path) -> None:
    (root / "windrow.toml").write_text('[[drops.centre]]\nshort_name = "Ucd"\nis_active = false\n')
    source(root, 'url = "ftp://h/"\nstate = "maintenance"', "a")
    source(root, 'url = "ftp://h/"\ncentre = "UCD"', "b")
    source(root, 'url = "ftp://h/"\ncentre = "H"', "c")
    workspace = load(root, {})
    assert [s.active for s in workspace.sources] == [False, False, True]
    assert [s.options["state"] for s in workspace.sources] == ["maintenance", "available", "available"]
    assert workspace.section(Drops).centres[0].short_name == "Ucd"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("naem = 'x'", ["windrow.toml", "naem", "did you mean name?"]),
        ("[drops]\ndownloader = 3", ["drops.downloader ", "did you mean drops.downloaders?"]),
        ("[downloads]\nattempts = 3", ["downloads", "drops.downloaders"]),
        ("attempts = 3", ["attempts", "did you mean drops.attempts?"]),
        ("[drops]\nattempts = '3'", ["drops.attempts", "a whole number from 1 to 20"]),
        ("[drops]\nattempts = true", ["drops.attempts", "a whole number from 1 to 20"]),
        ("[drops]\nattempts = 0", ["drops.attempts", "a whole number from 1 to 20"]),
        ("[limits]\nmember_size = '64 XB'", ["limits.member_size", "64 MB"]),
        ("[limits]\ncpu_time = nan", ["limits.cpu_time", "duration"]),
        ("name = 3", ["name", "expected text"]),
        ("name = 2026-11-26", ["name", "expected text, not a date or time"]),
        ("name = ['x']", ["name", "expected text, not a list"]),
        ("drops = 3", ["drops: expected a table [drops]"]),
        ("[dorps]\nlisters = 3", ["dorps is not a setting", "did you mean drops?"]),
        ("source = 3", ["[source.NAME]"]),
        ("[[drops.centre]]\nfull_name = 'x'", ["short_name"]),
        ("[[drops.centre]]\nshort_name = 'H'\nfone = 'x'", ["drops.centre[0].fone", "phone"]),
        ("[[drops.centre]]\nshort_name = 'H'\n[[drops.centre]]\nshort_name = 'h'", ["twice"]),
        ("[drops.centre]\nshort_name = 'H'", ["[[drops.centre]]"]),
        ("[drops.lists]\nprojects = 'nowhere.txt'", ["drops.lists.projects", "nowhere.txt"]),
        ("[drops]\nzip_name = '('", ["drops.zip_name", "regular expression"]),
        (
            "[source.a]\nurl = 'ftp://h/'\ncollectionn = 'drops'",
            ["source.a.collectionn", "source.a.collection?"],
        ),
        ("[source.a]\nurl = 'ftp://h/'", ["source.a.collection is missing"]),
        ("[source.a]\nurl = 'gopher://h/'\ncollection = 'drops'", ["sftp"]),
        ("[source.a]\nurl = 'ftp:///x'\ncollection = 'drops'", ["host"]),
        ("[source.a]\nurl = 'file://localhost:80/x'\ncollection = 'drops'", ["may not name a host, port or user"]),
        ("[source.a]\nurl = 'ftp://h:99999/x'\ncollection = 'drops'", ["port"]),
        ("[source.a]\nurl = 'ftp://h/../x'\ncollection = 'drops'", [".."]),
        ("[source.a]\nurl = 'ftp://h/%0d%0aDELE'\ncollection = 'drops'", ["control"]),
        ("[source.a]\nurl = 'http://a b/'\ncollection = 'news'", ["`url`", "http or https"]),
        ("[source.a]\nurl = 'http://a:0/'\ncollection = 'events'", ["source.a.url", "http or https"]),
        ("[events]\ndocuments = 'htps://h/'", ["events.documents", "http or https", "htps"]),
        ("[events]\nevent_database = 'vd_log'", ["windrow.toml: events.event_database", "the same name"]),
        ("[events]\nlog_database = 'vd_events'", ["windrow.toml: events.event_database", "the same name"]),
        ("[source.'a b']\nurl = 'ftp://h/'\ncollection = 'drops'", ["cannot name a source"]),
        ("[source.a_b]\nx = 1\n[source.a-b]\nx = 1", ["declared as a_b"]),
        ("name = ", ["is not TOML", "end of document"]),
        ("[pages]\n[pages]\n", ["is not TOML", "the table is in the file already"]),
        (f"name = {'9' * 5000}", ["windrow.toml has a number with too many digits"]),
        ("# \ufffe\udc80", ["not UTF-8"]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(root: Path, text: str, words: list[str]) -> None:
    (root / "windrow.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError) as caught:
        load(root, {})
    for word in words:
        assert word in str(caught.value)
    assert caught.value.exit_code == 4
    assert caught.value.hint


def test_a_source_of_a_collection_that_is_not_there_says_so_and_the_others_stand(root: Path) -> None:
    (root / "windrow.toml").write_text(
        "[drop]\nx = 1\n[source.a]\nurl = 'ftp://h/'\ncollection = 'drop'\n[source.b]\nurl = 'ftp://h/'\ncollection = 'drops'"
    )
    first_source, second_source = load(root, {}).sources
    assert (
        first_source.unusable == "collection 'drop' is not installed; installed are: drops, events, news, pages, papers"
    )
    assert not first_source.active
    assert second_source.unusable == ""
    assert second_source.active


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            'origins = ["https://b.example", "news.a.example"]',
            "source.a.origins: 'news.a.example' is not a web address",
        ),
        *(
            (f'seeds = ["rss.xml", "{seed}"]', f"source.a.seeds: '{seed}' is not a web address")
            for seed in ("file:///etc/passwd", "http://", "http://[::1", "http://a b/", "gopher://h/")
        ),
        ('kind = "wordpress"\nseeds = ["feed/"]', "`seeds` are not requested from a site of the kind wordpress"),
    ],
)
def test_a_setting_of_news_that_would_be_ignored_is_refused(root: Path, lines: str, problem: str) -> None:
    (root / "windrow.toml").write_text(f'[source.a]\ncollection = "news"\nurl = "https://a.example/"\n{lines}\n')
    with pytest.raises(ConfigError) as caught:
        load(root, {})
    assert problem in str(caught.value)
    assert "windrow.toml" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '[source.a]\nurl = "sftp://me:Hunter2@h/"\ncollection = "drops"',
        '[source.a]\nurl = "sftp://me:Hunter2@h:x/"\ncollection = "drops"',
        '[source.a]\nurl = "sftp://me:12/Hunter2@h/"\ncollection = "drops"',
        '[source.a]\nurl = "sftp://me:1#Hunter2@h/"\ncollection = "drops"',
        '[source.a]\nurl = "sftp://[Hunter2/"\ncollection = "drops"',
        '[source.a]\nurl = "sftp://me@h/"\ncollection = "drops"\nsecret = "Hunter2"',
        '[source.a]\nurl = "sftp://me@h/"\ncollection = "drops"\nssh_key = "Hunter2"',
        '[source.a]\nurl = "sftp://me@h/"\ncollection = "drops"\nproxy = "http://me:Hunter2@p"',
        '[source.a]\nurl = "sftp://me@h/"\ncollection = "drops"\npassword = "Hunter2"',
        '[source.a]\nurl = "https://h/"\ncollection = "news"\nseeds = ["http://me:Hunter2@h/"]',
        '[source.a]\nurl = "https://h/"\ncollection = "news"\norigins = ["http://me:Hunter2@h/"]',
        '[source.a]\nurl = "https://h/"\ncollection = "news"\nwarc_urls = ["http://me:Hunter2@h/"]',
        '[source.a]\nurl = "https://h/"\ncollection = "news"\ns3_endpoint = "http://me:Hunter2@h/"',
        '[drops]\ntracker = "mysql://me:Hunter2@h/d"',
        '[drops]\ntracker = "mysql://me:Hun/ter2@h/d"',
        '[drops]\nstore = "mysql://me@h/d?password=Hunter2"',
        '[drops]\nstore_secret = "Hunter2"',
        '[drops]\nstore_secret = "env:Hunter 2"',
        '[drops]\ntracker_secret = "Hunter2"',
    ],
)
def test_a_plain_secret_is_refused_and_never_repeated(root: Path, text: str) -> None:
    (root / "windrow.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(root, {})
    whole = str(caught.value) + caught.value.hint + repr(caught.value)
    assert "Hun" not in whole
    assert "ter2" not in whole


def test_the_secret_in_the_environment_is_not_in_what_is_shown(root: Path) -> None:
    source(root, 'url = "sftp://me@h/"\nsecret = "env:WINDROW_H_PASSWORD"')
    workspace = load(root, {"WINDROW_H_PASSWORD": "Hunter2"})
    assert "Hunter2" not in repr(workspace)
    assert "env:WINDROW_H_PASSWORD" in [value.shown for value in workspace.values]


def test_each_database_of_drops_has_a_password_of_its_own(root: Path) -> None:
    (root / "windrow.toml").write_text('[drops]\nstore_secret = "env:STORE"\ntracker_secret = "env:TRACKER"\n')
    drops = load(root, {}).sections["drops"]
    assert [database.secret.place for database in (drops.store, drops.tracker)] == ["env:STORE", "env:TRACKER"]
    assert load(root, {}).secret_variables == ("STORE", "TRACKER")


def test_a_mistyped_variable_is_refused_and_a_foreign_one_is_not(root: Path) -> None:
    assert load(root, {"WINDROW_SHARED": "x", "WINDROW_WORKSPACE": "x", "OTHER": "x"}).sections["drops"].attempts == 3
    with pytest.raises(ConfigError, match=r"WINDROW_LEDGR_PATH .* did you mean WINDROW_LEDGER_PATH"):
        load(root, {"WINDROW_LEDGR_PATH": "x"})


def test_databases(root: Path) -> None:
    assert load(root, {}).section(Drops).tracker.url == f"sqlite:///{root}/tracker.sqlite"
    workspace = load(root, {"WINDROW_DROPS_TRACKER": "mysql+pymysql://u@h/d", "WINDROW_DROPS_TRACKER_SECRET": "env:X"})
    assert workspace.section(Drops).tracker.url == "mysql+pymysql://u@h/d"
    assert workspace.section(Drops).tracker.secret == Secret("env:X")


def test_the_path_of_a_database_is_no_url(root: Path) -> None:
    (root / "windrow.toml").write_text('[drops]\nstore = "50%20?timeout=3#/d.sqlite"\n')
    url = load(root, {}).section(Drops).store.url
    assert make_url(url).database == str(file_of(url)) == f"{root}/50%20?timeout=3#/d.sqlite"
    assert not make_url(url).query


def test_a_run_closes_warc_files_at_the_size_that_is_configured(root: Path) -> None:
    with (root / "windrow.toml").open("a") as file:
        file.write('\n[archive]\nfolder = "kept"\nrollover_size = "2 KiB"\n')
    setup = Windrow(root).setup
    assert (setup.archive, setup.rollover_size) == (root / "kept", 2048)


def test_limits_default_to_the_models_own(root: Path) -> None:
    assert load(root, {}).limits == Limits()


def test_where_a_workspace_is_looked_for(root: Path) -> None:
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    assert find_workspace(inner, {}) == root
    assert find_workspace(Path("/"), {"WINDROW_WORKSPACE": str(root)}) == root
    assert find_workspace(root, {"WINDROW_WORKSPACE": "/nowhere"}, Path("a") / "..") == root
    with pytest.raises(NotAWorkspace, match="/nowhere, the folder that WINDROW_WORKSPACE names"):
        find_workspace(root, {"WINDROW_WORKSPACE": "/nowhere"})
    (root / "windrow.toml").unlink()
    with pytest.raises(NotAWorkspace) as caught:
        find_workspace(inner, {})
    assert str(inner) in str(caught.value)
    assert str(root) in str(caught.value)
    with pytest.raises(NotAWorkspace):
        load(root, {})


@given(st.text(st.characters(codec="utf-8")).filter(str.isprintable))
def test_a_new_workspace_is_valid(name: str) -> None:
    assert tomllib.loads(default_toml(name))["name"] == name


def test_a_new_workspace_loads(root: Path) -> None:
    (root / "windrow.toml").write_text(default_toml('a "farm"'))
    workspace = load(root, {})
    assert workspace.name == 'a "farm"'
    assert workspace.sources == ()


def test_resources_bring_their_imports(root: Path) -> None:
    (root / "projects.txt").write_text("IMPC\n")
    (root / "windrow.toml").write_text('[drops.lists]\nprojects = "projects.txt"\n')
    found_resources = read_resources(load(root, {}))
    assert set(found_resources) == {"specimen", "experiment", "projects"}
    assert found_resources["projects"].content == b"IMPC\n"
    assert [each.name for each in found_resources["specimen"].siblings] == ["common.xsd"]
    assert found_resources["specimen"].digest != found_resources["experiment"].digest


@pytest.mark.parametrize("key", ["", "SHA256:short", 'x"\ny = ["', "ssh-rsa AAAA\n" + "A" * 40])
def test_only_host_keys_are_trusted(root: Path, key: str) -> None:
    with pytest.raises(ConfigError):
        trust(root, "a", key)
    assert not (root / "host_keys.toml").exists()


@given(st.integers(0, 2**50))
def test_a_size_reads_as_it_is_shown(number: int) -> None:
    assert read_size(show_size(number)) == number


@given(st.integers(0, 10**9))
def test_a_duration_reads_as_it_is_shown(milliseconds: int) -> None:
    if milliseconds <= 3650 * 86_400_000:
        assert read_duration(show_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000, rel=1e-5)


@given(st.one_of(st.text(), st.floats(), st.booleans(), st.none(), st.lists(st.text())))
def test_amounts_are_read_or_refused(value: object) -> None:
    for read in (read_size, read_duration):
        with suppress(ConfigError):
            assert 0 <= read(value) < 2**62


def test_a_new_windrow_toml_shows_a_source_of_each_collection_that_loads_as_it_is_shown(root):
    shown = re.sub(r"(?m)^# (?=\[|[a-z_]+ = )", "", default_toml("farm"))
    (root / "windrow.toml").write_text(shown)
    assert {source.collection for source in load(root, {}).sources} == set(registry.installed())
