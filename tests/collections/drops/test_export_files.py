"""`windrow export files` of a folder of zips."""

import io
import json
import zipfile

from tests.collections.drops.sample import mouse, specimens
from windrow import Windrow


def test_a_file_is_exported_once_also_if_its_source_was_renamed(tmp_path):
    """The listing of the new name had a line of its own for each zip, which said that the zip has no XML file."""
    (tmp_path / "windrow.toml").touch()
    (tmp_path / "zips" / "add").mkdir(parents=True)
    (tmp_path / "sources").mkdir()
    name = "H.2025-03-02.1.impc.zip"
    with zipfile.ZipFile(tmp_path / "zips" / "add" / name, "w") as archive:
        archive.writestr("H.2025-03-02.1.specimen.impc.xml", specimens(mouse("m1")))
    former, source = tmp_path / "sources" / "p.toml", tmp_path / "sources" / "r.toml"
    former.write_text('url = "file:zips"\ncollection = "drops"\ncentre = "H"\n')
    for _ in range(2):
        windrow = Windrow(tmp_path)
        windrow.run()
        output = io.StringIO()
        assert windrow.export("files", "jsonl", output) == 1
        assert json.loads(output.getvalue())["xml_file"] == "H.2025-03-02.1.specimen.impc.xml"
        former = former.rename(source)
