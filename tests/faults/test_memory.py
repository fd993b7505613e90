"""A document that takes more memory than one document may have."""

import pytest

from tests.faults.workspace import DAY, put
from windrow.demo.partner import pack, specimens

NAME = f"H.{DAY}.1.specimen.impc.xml"


@pytest.mark.parametrize("retried", [True, False])
def test_a_document_that_eats_memory(make_workspace, retried):
    """A later run with more memory reads it: the kept copy, or a new one if an operator asked for a retry."""
    limits = "[limits]\nratio = 5000\nmemory = {}\n"
    workspace = make_workspace(limits.format(48 << 20))
    good = workspace.add_healthy()
    key = put(workspace.add_folder("own"), f"H.{DAY}.7.impc.zip", pack({NAME: specimens("H", 7, 30_000)}))
    assert workspace.run().code == 3
    phase, status, reason = workspace.item_state(f"{key}/{NAME}")
    assert phase in {"xsd", "upload"}
    assert (status, reason) == ("failed", "memory_limit")
    assert workspace.xml_log(NAME)[0][0] == "MemoryLimit"
    assert workspace.tasks("own")[-1][0] == 1
    workspace.assert_complete(good)
    workspace.configure(limits.format(1 << 30))
    if retried:
        workspace.retry(key)
    assert workspace.run().code == 0
    workspace.assert_complete(good, key)
