"""Names through the whole harvest: unknown and inactive centres, kinds mistaken, side-cars."""

import hashlib

from tests.faults.place import DAY, put
from windrow.demo.partner import drop, experiments, pack, specimens


def centres(made, *more):
    """Declare the centres H and J, and what else is given."""
    made.configure("\n".join(f"[[drops.centre]]\n{one}\n" for one in more))


def state_of(made, fname):
    return made.tracked(
        "SELECT p.short_name, s.short_name FROM xml_file x JOIN phase p ON p.id = x.phase_id"
        " JOIN a_status s ON s.id = x.status_id WHERE x.fname = ? ORDER BY x.id",
        fname,
    )


def test_a_zip_of_an_unknown_centre_waits_until_its_centre_is_declared(place):
    made = place()
    good = made.healthy()
    member, name = f"Zoo.{DAY}.1.specimen.impc.xml", f"Zoo.{DAY}.3.impc.zip"
    content = pack({member: specimens("H", 3)})  # the schema knows no centre but its own
    key = put(made.folder("own"), name, content)
    assert made.run().code == 0
    assert made.item(key) == ("zip_name", "failed", "unknown_centre")
    assert made.action(name) == ("zip_name", "failed")
    assert made.tracked("SELECT centre_id, created, inc FROM zip_file WHERE file_name = ?", name) == [(None,) * 3]
    assert made.downloads(name) == []
    assert made.run().code == 0
    assert made.action(name) == ("zip_name", "failed")

    centres(made, 'short_name = "Zoo"\nfull_name = "The Zoo"')
    assert made.run().code == 0
    made.whole(good, key)
    assert made.tracked(
        "SELECT c.full_name, f.created, f.inc FROM zip_file f JOIN centre c ON c.id = f.centre_id WHERE f.file_name = ?",
        name,
    ) == [("The Zoo", DAY, 3)]


def test_an_inactive_centre_is_not_asked_but_its_files_elsewhere_are_good(place):
    made = place('[[drops.centre]]\nshort_name = "Ics"\nis_active = false\n')
    good = made.healthy()
    hidden = put(made.folder("ics", "Ics"), *drop("Ics", DAY, 1))
    shown = put(made.folder("own", "H"), *drop("Ics", DAY, 2))
    assert made.run().code == 0
    made.whole(good, shown)
    assert made.ask("SELECT count(*) FROM listed_file WHERE file_key = ?", hidden) == [(0,)]
    assert made.tasks("ics") == []
    assert made.tracked(
        "SELECT c.is_active, r.short_name FROM file_source s JOIN centre c ON c.id = s.centre_id"
        " JOIN resource_state r ON r.id = s.state_id WHERE c.short_name = 'Ics'"
    ) == [(0, "available")]


def test_centres_that_are_declared_no_more(place):
    told = """SELECT lower(short_name), is_active, email FROM centre WHERE lower(short_name) IN ('ics', 'zoo') ORDER BY 1"""
    zoo, ics = 'short_name = "Zoo"\nemail = "zoo@example.org"', 'short_name = "ICS"\nis_active = false'
    made = place()
    centres(made, zoo, ics)
    key = put(made.folder("ics", "Ics"), *drop("Ics", DAY, 1))
    put(made.folder("own"), f"Zoo.{DAY}.1.impc.zip", pack({f"Zoo.{DAY}.1.specimen.impc.xml": specimens("H", 3)}))
    assert made.run().code == 0
    assert made.tracked(told) == [("ics", 0, ""), ("zoo", 1, "zoo@example.org")]
    centres(made)
    assert made.run().code == 0
    made.whole(key)  # the standard's centres need no declaration
    assert made.tracked(told) == [("ics", 1, ""), ("zoo", 0, "zoo@example.org")]
    centres(made, zoo)
    assert made.run().code == 0
    assert made.tracked(told) == [("ics", 1, ""), ("zoo", 1, "zoo@example.org")]


def test_what_the_tracker_has_no_room_for_is_refused_at_once(place):
    made = place('[[drops.centre]]\nshort_name = "Zoo"\nphone = "+44 (0)1235 841000"\n')
    made.healthy()
    went = made.run()
    assert went.code == 4
    assert str(went.error) == "centre zoo: phone has 18 characters; the tracker has room for 14"
    made.configure()
    made.source("far", f"file:///{'x' * 300}/")
    went = made.run()
    assert went.code == 4
    assert "source far: base_path has 302 characters" in str(went.error)


def test_states_are_told_as_declared(place):
    made = place()
    good = made.healthy()
    for state in ("maintenance", "removed"):
        put(made.folder(state, state=state), *drop("H", DAY, 7))
    assert made.run().code == 0
    made.whole(good)
    told = "SELECT r.short_name FROM file_source s JOIN resource_state r ON r.id = s.state_id ORDER BY s.id"
    assert [row[0] for row in made.tracked(told)] == ["available", "maintenance", "removed"]
    assert made.ask("SELECT count(*) FROM listing WHERE source <> 'healthy'") == [(0,)]


def test_the_same_bytes_under_a_name_of_the_other_kind_are_read_anew(place):
    made = place()
    folder = made.folder("own")
    wrong, right = f"H.{DAY}.1.experiment.impc.xml", f"H.{DAY}.1.specimen.impc.xml"
    content = specimens("H", 1)
    first = put(folder, f"H.{DAY}.1.impc.zip", pack({wrong: content}))
    assert made.run().code == 0
    assert made.item(first) == ("xsd", "failed", None)
    assert state_of(made, wrong) == [("xsd", "failed")]
    assert made.xml_log(wrong)[0][0] == "WrongRoot"
    second = put(folder, f"H.{DAY}.2.impc.zip", pack({right: content}))
    assert made.run().code == 0
    made.whole(second)
    third = put(folder, f"H.{DAY}.3.impc.zip", pack({wrong.replace(".1.", ".3."): content}))
    assert made.run().code == 0
    assert made.item(third) == ("xsd", "failed", None)


def test_side_cars(place):
    made = place("[drops]\nattempts = 1\n")
    folder = made.folder("own")
    keys = [put(folder, *drop("H", DAY, number)) for number in (1, 2, 3)]
    md5 = hashlib.md5((folder / keys[0]).read_bytes(), usedforsecurity=False).hexdigest()
    (folder / f"{keys[0]}.md5").write_text(f"{md5}  {keys[0].rpartition('/')[2]}\n")
    (folder / f"{keys[1]}.md5").write_text("0" * 32 + "\n")
    assert made.run().code == 3
    made.whole(keys[0], keys[2])
    assert made.item(keys[1])[:2] == ("zip_md5", "failed")
    assert made.action(keys[1]) == ("zip_md5", "failed")
    assert made.downloads(keys[1]) == [("zip_md5", "failed", (folder / keys[1]).stat().st_size)]
    assert [kind for kind, _ in made.zip_log(keys[1])] == ["DigestMismatch", "GivenUp"]
    passed = "SELECT count(*) FROM attempt v JOIN listed_file f ON f.seq = v.listed_file WHERE f.file_key = ? AND v.checksum <> ''"
    assert made.ask(passed, keys[0]) == [(1,)]
    assert made.ask(passed, keys[2]) == [(0,)]


def test_a_bad_name_within_a_zip_fails_its_parents_and_not_its_siblings(place):
    made = place()
    good, bad = f"H.{DAY}.1.specimen.impc.xml", f"H.{DAY}.specimen.impc.xml"
    key = put(made.folder("own"), f"H.{DAY}.1.impc.zip", pack({good: specimens("H", 1), bad: experiments("H", 1)}))
    assert made.run(last="unzip").code == 0
    assert made.action(key) == ("xml_name", "failed")
    assert made.run().code == 0
    assert made.action(key) == ("xml_name", "failed")
    assert made.downloads(key)[0][:2] == ("xml_name", "failed")
    assert state_of(made, bad) == [("xml_name", "failed")]
    assert state_of(made, good) == [("overview", "done")]
    assert made.tracked("SELECT centre_id, created, inc FROM xml_file WHERE fname = ?", bad) == [(None,) * 3]
