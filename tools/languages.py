"""Write the valid subtags of language tags: `python tools/languages.py [FOLDER]` writes `languages.txt`.

FOLDER contains the lists of Debian's package iso-codes (ISO 639-2, -3 and -5, 15924, 3166-1). The file maps the code of
three letters of a language to its code of two letters if it has one; IANA's registry of subtags leaves such codes out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

WRITTEN = Path(__file__).parent.parent / "src/windrow/formats/languages.txt"
FOLDER = Path("/usr/share/iso-codes/json")
OLD = "iw=he in=id ji=yi jw=jv mo=ro sh"
"""Subtags that the registry calls deprecated, each with the subtag that it prefers, if it names one."""


def read_list(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the entries of the list `name`, such as `639-3`."""
    entries: list[dict[str, Any]] = json.loads((folder / f"iso_{name}.json").read_text())[name]
    return entries


def main(folder: Path) -> None:
    """Write three lines: the subtags of languages, of scripts and of regions."""
    languages = set(OLD.split())
    for language in [*read_list(folder, "639-2"), *read_list(folder, "639-3"), *read_list(folder, "639-5")]:
        short, long = language.get("alpha_2"), language["alpha_3"]
        languages |= {short, f"{long}={short}"} if short else {long}
        if short and (bibliographic := language.get("bibliographic")):
            languages.add(f"{bibliographic}={short}")
    languages -= {"qaa-qtz"}
    scripts = {script["alpha_4"] for script in read_list(folder, "15924")}
    regions = {region["alpha_2"] for region in read_list(folder, "3166-1")} | {"EU", "UN", "XK", "AC", "IC", "EA"}
    WRITTEN.write_text("".join(" ".join(sorted(each)) + "\n" for each in (languages, scripts, regions)))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
