"""The folder of a search index: what a foreign one says can be done."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.errors import ConfigError
from windrow.stores.index.folder import index_folder, refuse_foreign


@pytest.mark.parametrize(
    ("name", "remedy"), [("index", "(pages.index)"), (index_folder(Path("events.db")).name, "the store events.db")]
)
def test_the_hint_for_a_foreign_folder_names_what_decides_where_the_index_is(
    tmp_path: Path, name: str, remedy: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    with pytest.raises(ConfigError) as refused:
        refuse_foreign(folder)
    assert remedy in str(refused.value.hint)
    assert ("pages.index" in str(refused.value.hint)) == (name == "index")
