from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.drops.collection import plan
from windrow.model import ListingEntry, Site, Source, join_path
from windrow.reasons import Reason

SOURCE = Source("mirror", "drops", Site("ftp", "example.org"), owner="J")
OPTIONS = {"centres": "H, Wtsi"}
GOOD = "H.2012-11-20.03.impc.zip"


def offers(*entries, options=OPTIONS):
    return plan(SOURCE, entries, options)


def test_each_folder_is_an_action():
    planned = offers(*(ListingEntry(folder, GOOD, 10) for folder in ("add", "edit", "delete", "other")))
    assert [offer.key for offer in planned] == [f"add/{GOOD}", f"edit/{GOOD}", f"delete/{GOOD}"]
    assert [offer.path for offer in planned] == [offer.key for offer in planned]
    assert all(offer.reason is None and offer.size == 10 for offer in planned)


def test_the_owner_is_the_producer_as_declared_not_the_host():
    assert offers(ListingEntry("add", "WTSI.2013-10-31.14.impc.zip"))[0].owner == "Wtsi"


def test_a_folder_with_slashes_is_the_same():
    assert offers(ListingEntry("/add/", GOOD))[0].path == f"add/{GOOD}"


def test_what_does_not_end_in_zip_is_left_out():
    assert (
        offers(
            ListingEntry("add", "H.2012-11-20.03.impc.ZIP"),
            ListingEntry("add", "notes.txt"),
            ListingEntry("add", "old", is_file=False),
        )
        == []
    )


def test_folders_named_like_zips_are_refused():
    (offer,) = offers(ListingEntry("add", GOOD, is_file=False))
    assert offer.reason is Reason.NOT_A_FILE
    assert offer.unkeyed


def test_two_equal_lines_are_one_offer():
    (offer,) = offers(ListingEntry("add", GOOD, 10), ListingEntry("add", GOOD, 10))
    assert (offer.size, offer.reason) == (10, None)
    (offer,) = offers(ListingEntry("add", GOOD, 10), ListingEntry("add", GOOD, 11))
    assert (offer.size, offer.reason) == (11, None)


def test_names_that_differ_by_case_are_one_zip_and_those_that_differ_otherwise_are_two():
    names = ["H.2013-01-01.1.A.zip", "H.2013-01-01.1.a.zip", "H.2013-01-01.1.\u00fc.zip", "H.2013-01-01.1.u\u0308.zip"]
    pattern = r"(?P<centre>[A-Z]+)\.(?P<date>[0-9-]{10})\.(?P<inc>[0-9]+)\..*\.zip"
    planned = offers(*(ListingEntry("add", name) for name in names), options=OPTIONS | {"zip_name": pattern})
    assert [offer.path for offer in planned] == [f"add/{name}" for name in names]
    assert [offer.reason for offer in planned] == [None, Reason.OTHER_SPELLING, None, None]


def test_bad_names_are_kept_with_their_reason():
    planned = offers(
        ListingEntry("add", "Xyz.2013-01-01.1.impc.zip"),
        ListingEntry("add", "H.2012-02-31.1.impc.zip"),
        ListingEntry("add", "a\\b.zip"),
        ListingEntry("add", "a.zip"),
    )
    assert [(offer.reason, offer.unkeyed) for offer in planned] == [
        (Reason.UNKNOWN_CENTRE, False),
        (Reason.BAD_DATE, False),
        (Reason.UNSAFE_NAME, False),
        (Reason.BAD_NAME, False),
    ]


def test_names_that_fit_no_table_are_unkeyed():
    planned = offers(
        ListingEntry("add", "x" * 125 + ".zip"),
        ListingEntry("add", "a\n.zip"),
        ListingEntry("add", "a/b.zip"),
        ListingEntry("add", "a\udcff.zip"),
    )
    assert [(offer.reason, offer.unkeyed) for offer in planned] == [
        (Reason.NAME_TOO_LONG, True),
        (Reason.UNSAFE_NAME, True),
        (Reason.UNSAFE_NAME, True),
        (Reason.UNSAFE_NAME, True),
    ]


def test_sidecars():
    md5, sha = ListingEntry("add", GOOD + ".md5"), ListingEntry("add", GOOD + ".sha256")
    assert offers(ListingEntry("add", GOOD))[0].sidecar == ""
    assert offers(ListingEntry("add", GOOD), md5)[0].sidecar == f"add/{GOOD}.md5"
    assert offers(md5, sha, ListingEntry("add", GOOD))[0].sidecar == f"add/{GOOD}.sha256"
    assert offers(ListingEntry("edit", GOOD), md5)[0].sidecar == ""
    assert offers(ListingEntry("add", GOOD), md5._replace(is_file=False))[0].sidecar == ""


def test_own_pattern_and_list_of_centres():
    options = {"centres": ["J"], "zip_name": r"(?P<centre>\w)_(?P<date>[\d-]{10})_(?P<inc>\d+)\.zip"}
    (offer,) = offers(ListingEntry("add", "J_2020-01-01_5.zip"), options=options)
    assert (offer.reason, offer.owner) == (None, "J")


@given(st.lists(st.tuples(st.dates(), st.integers(0, 99999)), unique=True))
def test_rank_is_the_order_of_work(keys):
    planned = offers(*(ListingEntry("add", f"H.{day}.{inc}.impc.zip") for day, inc in keys))
    by_rank = [offer.key for offer in sorted(planned, key=lambda offer: offer.rank)]
    assert by_rank == [f"add/H.{day}.{inc}.impc.zip" for day, inc in sorted(keys)]


@given(
    st.lists(st.builds(ListingEntry, st.sampled_from(["add", "edit", ""]), st.text().map(lambda name: name + ".zip")))
)
def test_nothing_listed_vanishes(entries):
    listed = (entry for entry in entries if entry.folder or entry.reason is not None)
    paths = {join_path(entry.folder, entry.name) if entry.folder else entry.name for entry in listed}
    assert {offer.path for offer in offers(*entries)} == paths
