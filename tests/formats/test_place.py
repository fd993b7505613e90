from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from windrow.formats.xsd import find_positions

trees = st.recursive(
    st.just([]),
    lambda below: st.lists(st.tuples(st.sampled_from(["x", "y", "p:x", "q:x", "n"]), below), max_size=4),
    max_leaves=20,
)


def written(tree):
    """Write a tree with an element on each line, so that a line tells which one it is."""
    parts = []
    for name, below in tree:
        own = " xmlns=''" if name == "n" else ""
        tag = name if name != "n" else "x"
        parts.append(f"<{tag}{own}\n>{written(below)}</{tag}>")
    return "".join(parts)


@given(trees, st.sampled_from(["", " xmlns='d'"]))
def test_every_path_of_libxml2_is_found(tree, default):
    content = f"<r{default} xmlns:p='p' xmlns:q='q'\n>{written(tree)}</r>".encode()
    root = etree.fromstring(content)
    paths = {root.getroottree().getpath(element): element.sourceline - 1 for element in root.iter()}
    positions = find_positions(content, paths)
    assert {path: line for path, (line, _) in positions.items()} == paths


def test_columns_count_characters():
    assert find_positions("<a>\u00e9\u4e2d\U0001f400<b/></a>".encode(), ["/a/b"]) == {"/a/b": (1, 7)}


def test_a_path_that_leads_nowhere_and_a_document_that_breaks_off():
    assert find_positions(b"<a><b/>", ["/a/b", "/a/c", "/a/b[2]"]) == {"/a/b": (1, 4)}


def test_an_attribute_stands_where_its_element_does():
    assert find_positions(b"<a>\n<b c='1'/></a>", ["/a/b/@c"]) == {"/a/b/@c": (2, 1)}
