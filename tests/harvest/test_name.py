"""Names through the whole harvest: unknown and inactive centres, mistaken kinds, checksum files."""

import hashlib

import pytest

from tests.faults.workspace import DAY, DropsWorkspace, put
from windrow.app import Windrow
from windrow.demo.partner import drop, experiments, pack, specimens
from windrow.errors import UsageError


def declare_centres(workspace, *more):
    """Declare the centres H and J, and these."""
    workspace.configure("\n".join(f"[[drops.centre]]\n{declaration}\n" for declaration in more))


def state_of(workspace, fname):
    return workspace.query_tracker(
        "SELECT p.short_name, s.short_name FROM xml_file x JOIN phase p ON p.id = x.phase_id"
        " JOIN a_status s ON s.id = x.status_id WHERE x.fname = ? ORDER BY x.id",
        fname,
    )


def test_a_zip_of_an_unknown_centre_waits_until_its_centre_is_declared(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    member, name = f"Zoo.{DAY}.1.specimen.impc.xml", f"Zoo.{DAY}.3.impc.zip"
    content = pack({member: specimens("H", 3)})  # the schema knows no centre but its own
    key = put(workspace.add_folder("own"), name, content)
    assert workspace.run().code == 0
    assert workspace.item_state(key) == ("zip_name", "failed", "unknown_centre")
    assert workspace.action_state(name) == ("zip_name", "failed")
    assert workspace.query_tracker("SELECT centre_id, created, inc FROM zip_file WHERE file_name = ?", name) == [
        (None,) * 3
    ]
    assert workspace.downloads(name) == []
    assert workspace.run().code == 0
    assert workspace.action_state(name) == ("zip_name", "failed")

    declare_centres(workspace, 'short_name = "Zoo"\nfull_name = "The Zoo"')
    assert workspace.run().code == 0
    workspace.assert_complete(good, key)
    assert workspace.query_tracker(
        "SELECT c.full_name, f.created, f.inc FROM zip_file f JOIN centre c ON c.id = f.centre_id WHERE f.file_name = ?",
        name,
    ) == [("The Zoo", DAY, 3)]


def test_an_inactive_centre_is_not_asked_but_its_files_elsewhere_are_good(make_workspace):
    workspace = make_workspace('[[drops.centre]]\nshort_name = "Ics"\nis_active = false\n')
    good = workspace.add_healthy()
    hidden = put(workspace.add_folder("ics", "Ics"), *drop("Ics", DAY, 1))
    shown = put(workspace.add_folder("own", "H"), *drop("Ics", DAY, 2))
    assert workspace.run().code == 0
    workspace.assert_complete(good, shown)
    assert workspace.query_ledger("SELECT count(*) FROM listed_file WHERE file_key = ?", hidden) == [(0,)]
    assert workspace.tasks("ics") == []
    assert workspace.query_tracker(
        "SELECT c.is_active, r.short_name FROM file_source s JOIN centre c ON c.id = s.centre_id"
        " JOIN resource_state r ON r.id = s.state_id WHERE c.short_name = 'Ics'"
    ) == [(0, "available")]


def test_centres_that_are_declared_no_more(make_workspace):
    centre_query = """SELECT lower(short_name), is_active, email FROM centre WHERE lower(short_name) IN ('ics', 'zoo') ORDER BY 1"""
    zoo, ics = 'short_name = "Zoo"\nemail = "zoo@example.org"', 'short_name = "ICS"\nis_active = false'
    workspace = make_workspace()
    declare_centres(workspace, zoo, ics)
    key = put(workspace.add_folder("ics", "Ics"), *drop("Ics", DAY, 1))
    put(
        workspace.add_folder("own"),
        f"Zoo.{DAY}.1.impc.zip",
        pack({f"Zoo.{DAY}.1.specimen.impc.xml": specimens("H", 3)}),
    )
    assert workspace.run().code == 0
    assert workspace.query_tracker(centre_query) == [("ics", 0, ""), ("zoo", 1, "zoo@example.org")]
    declare_centres(workspace)
    assert workspace.run().code == 0
    workspace.assert_complete(key)  # the standard's centres need no declaration
    assert workspace.query_tracker(centre_query) == [("ics", 1, ""), ("zoo", 0, "zoo@example.org")]
    declare_centres(workspace, zoo)
    assert workspace.run().code == 0
    assert workspace.query_tracker(centre_query) == [("ics", 1, ""), ("zoo", 1, "zoo@example.org")]


def test_what_the_tracker_has_no_room_for_is_refused_at_once(make_workspace):
    workspace = make_workspace('[[drops.centre]]\nshort_name = "Zoo"\nphone = "+44 (0)1235 841000"\n')
    workspace.add_healthy()
    outcome = workspace.run()
    assert outcome.code == 4
    assert str(outcome.error) == "centre zoo: phone has 18 characters; the limit is 14"
    workspace.configure()
    workspace.add_source("far", f"file:///{'x' * 300}/")
    outcome = workspace.run()
    assert outcome.code == 4
    assert "source far: base_path has 302 characters" in str(outcome.error)


@pytest.mark.parametrize("name", ["a%20b", "q?timeout=3", "ü#&+:"])
def test_all_databases_are_in_the_workspace_whatever_the_name_of_its_folder(tmp_path, name):
    (tmp_path / "a b").mkdir()
    workspace = DropsWorkspace(tmp_path / name)
    good = workspace.add_healthy()
    assert workspace.run().code == 0
    workspace.assert_complete(good)
    assert workspace.faults() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"a b", name})
    assert not list((tmp_path / "a b").iterdir())


def test_a_tracker_that_is_filled_anew_has_what_came_from_former_sources_and_centres(make_workspace):
    def rows():
        download = "JOIN zip_download d ON d.id = x.zip_id JOIN file_source_has_zip f ON f.id = d.zf_id"
        names = "c.short_name, c.is_active, x.fname, x.inc, r.short_name, s.base_path"
        return workspace.query_tracker(
            f"SELECT {names}, x.phase_id, x.status_id FROM xml_file x JOIN centre c ON c.id = x.centre_id {download}"
            " JOIN file_source s ON s.id = f.file_source_id JOIN resource_state r ON r.id = s.state_id ORDER BY 3, 2"
        )

    workspace = make_workspace()
    declare_centres(workspace, 'short_name = "Zoo"')
    zoo = put(
        workspace.add_folder("zoo", "Zoo"),
        f"Zoo.{DAY}.1.impc.zip",
        pack({f"Zoo.{DAY}.1.specimen.impc.xml": specimens("H", 3)}),
    )
    jax = put(workspace.add_folder("jax", "J"), *drop("J", DAY, 1))
    assert workspace.run().code == 0
    workspace.assert_complete(zoo, jax)
    (workspace.root / "sources" / "zoo.toml").unlink()
    (workspace.root / "sources" / "jax.toml").rename(workspace.root / "sources" / "jackson.toml")
    workspace.configure()
    assert workspace.run().code == 0
    before = rows()
    assert ("Zoo", 0, f"Zoo.{DAY}.1.specimen.impc.xml", 1) in [row[:4] for row in before]
    assert {row[4] for row in before} == {"removed"}
    for file in workspace.root.glob("tracker.sqlite*"):
        file.unlink()
    assert workspace.run().code == 0
    assert rows() == before
    assert workspace.faults() == []


def test_a_source_that_was_never_listed_is_removed_too(make_workspace):
    workspace = make_workspace()
    workspace.add_healthy()
    workspace.add_source("mistyped", f"file://{workspace.root}/nowhere/")
    workspace.run()
    (workspace.root / "sources" / "mistyped.toml").unlink()
    assert workspace.run().code == 0
    state_query = "SELECT r.short_name FROM file_source s JOIN resource_state r ON r.id = s.state_id ORDER BY s.id"
    assert workspace.query_tracker(state_query) == [("available",), ("removed",)]


def test_states_are_told_as_declared(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    for state in ("maintenance", "removed"):
        put(workspace.add_folder(state, state=state), *drop("H", DAY, 7))
    assert workspace.run().code == 0
    workspace.assert_complete(good)
    state_query = "SELECT r.short_name FROM file_source s JOIN resource_state r ON r.id = s.state_id ORDER BY s.id"
    assert [row[0] for row in workspace.query_tracker(state_query)] == ["available", "maintenance", "removed"]
    assert workspace.query_ledger("SELECT count(*) FROM listing WHERE source <> 'healthy'") == [(0,)]


def test_the_same_bytes_under_a_name_of_the_other_kind_are_read_anew(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    wrong, right = f"H.{DAY}.1.experiment.impc.xml", f"H.{DAY}.1.specimen.impc.xml"
    content = specimens("H", 1)
    first = put(folder, f"H.{DAY}.1.impc.zip", pack({wrong: content}))
    assert workspace.run().code == 0
    assert workspace.item_state(first) == ("xsd", "failed", None)
    assert state_of(workspace, wrong) == [("xsd", "failed")]
    assert workspace.xml_log(wrong)[0][0] == "WrongRoot"
    second = put(folder, f"H.{DAY}.2.impc.zip", pack({right: content}))
    assert workspace.run().code == 0
    workspace.assert_complete(second)
    third = put(folder, f"H.{DAY}.3.impc.zip", pack({wrong.replace(".1.", ".3."): content}))
    assert workspace.run().code == 0
    assert workspace.item_state(third) == ("xsd", "failed", None)


def test_a_zip_of_a_source_that_is_switched_off_is_not_put_back(make_workspace):
    workspace = make_workspace()
    key = put(workspace.add_folder("own"), *drop("H", DAY, 1))
    workspace.add_healthy()
    assert workspace.run().code == 0
    workspace.add_folder("own", state="maintenance")
    with pytest.raises(UsageError, match=f"source own is switched off, so no run requests {key}"):
        Windrow(workspace.root).retry(key)
    assert workspace.item_state(key)[:2] == ("overview", "done")
    workspace.assert_complete(key)


def test_one_name_with_other_bytes_in_another_folder_has_a_finding(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    name, content = drop("H", DAY, 1)
    put(folder, name, content)
    put(folder, name, content, "edit")
    assert workspace.run().code == 0
    assert workspace.findings(f"edit/{name}") == []
    key = put(folder, name, content + b"more", "delete")
    for _ in range(2):
        workspace.run()
        found = [finding for finding in workspace.findings(key) if finding[0] == "SameNameDiffers"]
        message = f"{key} has other bytes than {{}}/{name}; both are read"
        assert [text for _, text in found] == [message.format("add"), message.format("edit")]
    assert [kind for kind, _ in workspace.zip_log(key)].count("SameNameDiffers") == 2


def test_side_cars(make_workspace):
    workspace = make_workspace("[drops]\nattempts = 1\n")
    folder = workspace.add_folder("own")
    keys = [put(folder, *drop("H", DAY, number)) for number in (1, 2, 3)]
    md5 = hashlib.md5((folder / keys[0]).read_bytes(), usedforsecurity=False).hexdigest()
    (folder / f"{keys[0]}.md5").write_text(f"{md5}  {keys[0].rpartition('/')[2]}\n")
    (folder / f"{keys[1]}.md5").write_text("0" * 32 + "\n")
    assert workspace.run().code == 3
    workspace.assert_complete(keys[0], keys[2])
    assert workspace.item_state(keys[1])[:2] == ("zip_md5", "failed")
    assert workspace.action_state(keys[1]) == ("zip_md5", "failed")
    assert workspace.downloads(keys[1]) == [("zip_md5", "failed", (folder / keys[1]).stat().st_size)]
    assert [kind for kind, _ in workspace.zip_log(keys[1])] == [
        "DigestMismatch"
    ]  # it rests, until its checksum changes
    passed = "SELECT count(*) FROM attempt v JOIN listed_file f ON f.seq = v.listed_file WHERE f.file_key = ? AND v.checksum <> ''"
    assert workspace.query_ledger(passed, keys[0]) == [(1,)]
    assert workspace.query_ledger(passed, keys[2]) == [(0,)]


def test_what_no_rule_takes_is_counted_until_it_is_removed(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    member = f"H.{DAY}.1.specimen.impc.xml"
    key = put(folder, f"H.{DAY}.1.impc.zip", pack({member: specimens("H", 1), "data/x.xml": b"1", "notes.txt": b"1"}))
    unwanted = [put(folder, f"H.{DAY}.2.impc.ZIP", b"PK"), put(folder, "read me", b"1")]
    (folder / "add" / "2025").mkdir()
    (folder / "Add").mkdir()
    (folder / f"H.{DAY}.3.impc.zip").write_bytes(b"PK")
    assert workspace.run().code == 0
    counts = {(count.rule, count.addresses, count.example) for count in workspace.status().left_out}
    in_zip = ("a rule leaves out entries of this kind", 2, key)
    assert counts == {
        ("files whose names end in '.ZIP'", 1, unwanted[0]),
        ("files whose names have no ending", 1, "add/read%20me"),
        ("folders, links and devices", 1, "add/2025"),
        ("folders, links and devices beside the folders add, edit, delete", 1, "Add"),
        ("files whose names end in '.zip' beside the folders add, edit, delete", 1, f"H.{DAY}.3.impc.zip"),
        in_zip,
    }
    assert {(count.rule, count.addresses, count.example) for count in workspace.status().last.left_out} == counts
    assert {count.reason for count in workspace.status().left_out} == {"not_wanted"}
    for name in unwanted:
        (folder / name).unlink()
    (folder / "add" / "2025").rmdir()
    (folder / "Add").rmdir()
    (folder / f"H.{DAY}.3.impc.zip").unlink()
    put(folder, *drop("H", DAY, 4))
    assert workspace.run().code == 0  # another zip is read
    assert [(count.rule, count.addresses, count.example) for count in workspace.status().left_out] == [in_zip]
    put(folder, f"H.{DAY}.1.impc.zip", pack({member: specimens("H", 1)}))
    workspace.retry(key)
    assert workspace.run().code == 0
    assert workspace.status().left_out == ()


def test_a_bad_name_within_a_zip_fails_its_parents_and_not_its_siblings(make_workspace):
    workspace = make_workspace()
    good, bad = f"H.{DAY}.1.specimen.impc.xml", f"H.{DAY}.specimen.impc.xml"
    key = put(
        workspace.add_folder("own"), f"H.{DAY}.1.impc.zip", pack({good: specimens("H", 1), bad: experiments("H", 1)})
    )
    assert workspace.run(last="unzip").code == 0
    assert workspace.action_state(key) == ("xml_name", "failed")
    assert workspace.run().code == 0
    assert workspace.action_state(key) == ("xml_name", "failed")
    assert workspace.downloads(key)[0][:2] == ("xml_name", "failed")
    assert state_of(workspace, bad) == [("xml_name", "failed")]
    assert state_of(workspace, good) == [("overview", "done")]
    assert workspace.query_tracker("SELECT centre_id, created, inc FROM xml_file WHERE fname = ?", bad) == [(None,) * 3]
