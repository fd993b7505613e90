"""A document that takes more memory than one document may have."""

import pytest

from tests.faults.place import DAY, put
from windrow.demo.partner import pack, specimens

NAME = f"H.{DAY}.1.specimen.impc.xml"


@pytest.mark.parametrize("asked", [True, False])
def test_a_document_that_eats_memory(place, asked):
    """The next run that gives it more takes it, as it lies here, or fetched again where an operator asks for that."""
    limits = "[limits]\nratio = 5000\nmemory = {}\n"
    made = place(limits.format(48 << 20))
    good = made.healthy()
    key = put(made.folder("own"), f"H.{DAY}.7.impc.zip", pack({NAME: specimens("H", 7, 30_000)}))
    assert made.run().code == 3
    phase, status, reason = made.item(f"{key}/{NAME}")
    assert phase in {"xsd", "upload"}
    assert (status, reason) == ("failed", "memory_limit")
    assert made.xml_log(NAME)[0][0] == "MemoryLimit"
    assert made.tasks("own")[-1][0] == 1
    made.whole(good)
    made.configure(limits.format(1 << 30))
    if asked:
        made.retry(key)
    assert made.run().code == 0
    made.whole(good, key)
