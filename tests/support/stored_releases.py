"""Releases and ledgers of every job that earlier versions made (``tests/data/releases``), to be used by this one.

``python -m tests.support.stored_releases FOLDER`` makes new ones: synthetic rows, the tests' key.
"""

import json
import shutil
import sys
from math import isclose
from pathlib import Path
from unittest.mock import patch

from dplib.canonical import canonical_json
from dplib.ledger.chain import Entry, seal
from dplib.reading.release import Release, open_release
from tests.support.every_job import JOBS, ONE_RUN, entries_of, new_place_of
from tests.support.jobs import Shop, content, dplib
from tests.support.ledgers import Place, url_of

STORED = Path(__file__).resolve().parents[1] / "data" / "releases"
MADE_IN = Path("/srv/dplib-tests")
"""Where the rows lay when they were measured, which a ledger remembers. Nothing is there any more."""
NOW_WIDER = ("std_errors", "weight_error")
"""Of centers, since the cells on a border are in their errors: what is published anew states them anew."""


def used(job: str, folder: Path) -> dict[str, bool]:
    """Use a copy of a stored place as its owner would: what a stored release must still be good for, and whether it is.

    Args:
        job: whose place.
        folder: for the copy; there is nothing yet.
    """
    shutil.unpack_archive(STORED / f"{job}.zip", folder)
    fresh = new_place_of(job, folder.with_name(f"{folder.name}-new"))
    shutil.copy(fresh.folder / "shop.key", folder)
    place = type(fresh)(folder, json.loads((folder / "shop.yaml").read_text()))
    (release,) = place.output.iterdir()
    answers = json.loads((folder / "answers.json").read_text())
    ledger, before = f"sqlite:///{folder}/ledger.db", content(release)
    seen = {"audited": dplib("ledger", "audit", "--ledger", ledger).code == 0}
    moved(place)
    seen["verified"] = dplib("verify", str(release), "--ledger", ledger).code == 0
    seen["answered"] = close(json.loads(dplib("query", str(release), "--json").out), answers)
    seen["found"] = place.run("--yes").last == str(release) and content(release) == before
    anew = place.set(publish__output={"path": "releases", "csv": True}).run("--yes").last
    seen["published anew"] = anew == str(release) and bool(list(release.rglob("*.csv")))
    seen["from the same measurement"] = all(content(release)[name] == before[name] for name in before if "meas" in name)
    seen["answered alike"] = close(json.loads(dplib("query", str(release), "--json").out), answers, NOW_WIDER)
    seen["verified anew"] = dplib("verify", str(release), "--ledger", ledger).code == 0
    seen["paid once"] = [entry for entry in entries_of(place) if entry != "publish"] == ONE_RUN[:2]
    return seen


def stored_release(job: str, folder: Path) -> Release:
    """A copy of the release of a job that earlier versions made, opened."""
    shutil.unpack_archive(STORED / f"{job}.zip", folder)
    (path,) = (folder / "releases").iterdir()
    return open_release(path)


def close(found: object, stored: object, but: tuple[str, ...] = ()) -> bool:
    """Whether two answers are equal, numbers to nine digits: the last bits of a float depend on the machine."""
    if isinstance(stored, dict) and isinstance(found, dict):
        same = (name in but or close(found[name], stored[name], but) for name in stored)
        return found.keys() == stored.keys() and all(same)
    if isinstance(stored, list) and isinstance(found, list):
        return len(found) == len(stored) and all(close(*each, but) for each in zip(found, stored, strict=True))
    if isinstance(stored, float) and isinstance(found, float):
        return isclose(found, stored, rel_tol=1e-9)
    return found == stored


def moved(place: Shop) -> None:
    """Let the ledger say that the releases were always where the copy is, as only its owner could."""
    book: list[Entry] = []
    for entry in place.ledger.entries()[0]:
        body = entry.content()
        if "location" in body:
            body |= {"location": str(place.output / Path(body["location"]).name)}
        fields = vars(entry) | {"body": canonical_json(body).decode()}
        fields["previous"] = book[-1].digest if book else entry.previous
        del fields["digest"]
        book.append(seal(**fields))
    Place(url_of(place.folder)).store(book)


def make(job: str, folder: Path) -> None:
    """Measure and publish a place of a job, ask it, and pack it into ``JOB.zip`` of a folder."""
    place = new_place_of(job, MADE_IN / job, input__path=str(MADE_IN / job / "orders.csv"))
    with patch("socket.gethostname", lambda: "tests"), patch("getpass.getuser", lambda: "tests"):
        release = place.run("--yes").release
    answers = dplib("query", str(release), "--json")
    assert answers.code == 0, answers.err
    (place.folder / "answers.json").write_text(answers.out)
    for private in (place.output / ".lock", place.folder / "shop.key"):
        private.unlink()
    shutil.make_archive(str(folder / job), "zip", place.folder)
    shutil.rmtree(place.folder)


if __name__ == "__main__":
    for each in JOBS:
        make(each, Path(sys.argv[1]))
