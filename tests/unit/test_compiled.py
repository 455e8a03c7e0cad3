import importlib
import linecache
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numba.core import caching
from numpy.typing import NDArray

from dplib import kept_code
from dplib.compiled import compiled
from dplib.graphs.edges import weighted_degrees

FloatArray = NDArray[np.float64]

SOURCE = """
from dplib.compiled import compiled

@compiled
def total(values):
    result = 0.0
    for i in range(values.size):
        result += values[i]
    return result
"""
USE = """
import sys, numpy as np
from counted import total
from dplib.compiled import as_written
with as_written(True):
    assert total(np.arange(4.0)) == 6.0
assert "numba" not in sys.modules
print(total(np.arange(4.0)), sum(total.dispatcher.stats.cache_hits.values()))
"""


def _place(folder: Path, archive: str | None) -> Path:
    """Where the module is imported from: the folder itself, or an archive in it."""
    folder.mkdir(exist_ok=True)
    if archive is None:
        (folder / "counted.py").write_text(SOURCE)
        return folder
    with zipfile.ZipFile(folder / archive, "w") as file:
        file.writestr("counted.py", SOURCE)
    return folder / archive


def _loaded_anew(monkeypatch: pytest.MonkeyPatch, place: Path) -> Any:
    """The function of a module that knows only what is kept on disk."""
    monkeypatch.syspath_prepend(place)
    sys.modules.pop("counted", None)
    return importlib.import_module("counted").total


@pytest.mark.parametrize("archive", ["counted.whl", None])
def test_code_is_kept_from_a_folder_and_from_an_archive_wherever_that_lies(
    tmp_path: Path, archive: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    found = []
    for number in range(2):
        total = _loaded_anew(monkeypatch, _place(tmp_path / (f"{number}" if archive else "folder"), archive))
        assert total(np.arange(4.0)) == 6.0
        found.append(sum(total.dispatcher.stats.cache_hits.values()))
    assert found == [0, 1]
    assert (tmp_path / "caches").exists() == (archive is not None)


def test_another_process_finds_the_code_and_runs_as_written_without_numba(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = _place(tmp_path / "folder", None)
    assert _loaded_anew(monkeypatch, place)(np.arange(4.0)) == 6.0
    code = f"import sys; sys.path.insert(0, {str(place)!r}); {USE}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == "6.0 1\n"


def test_an_installation_that_nobody_may_write_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_code._Places, "_locator_classes", [])

    @compiled
    def double(x: float) -> float:
        return 2 * x

    assert double(2.0) == 4.0
    with pytest.raises(RuntimeError, match="no locator available"):
        kept_code._Cache(cast(Any, double).function, "")


def test_code_of_a_function_whose_callee_changed_in_another_file_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    # Two texts of one length within a second: Python would take the first one's bytecode.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "calling.py").write_text(
        "from called import inner\nfrom dplib.compiled import compiled\n@compiled\ndef outer(x):\n    return inner(x)\n"
    )
    for factor in (2, 3):
        text = f"from dplib.compiled import compiled\n\n@compiled\ndef inner(x):\n    return {factor} * x\n"
        (tmp_path / "called.py").write_text(text)
        for name in ("called", "calling"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        linecache.checkcache()
        assert importlib.import_module("calling").outer(1.0) == factor


def test_a_compiled_function_goes_to_tasks_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(weighted_degrees)) is weighted_degrees  # noqa: S301 - our own bytes


def test_two_processes_that_compile_for_two_kinds_of_arrays_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counted.py").write_text(SOURCE)
    plain, strided = np.arange(6.0), np.arange(12.0)[::2]

    def total_in_new_process(values: FloatArray) -> float:
        return float(_loaded_anew(monkeypatch, tmp_path)(values))

    save_data: Any = caching.IndexDataCacheFile._save_data
    others = [strided]

    def meanwhile(files: caching.IndexDataCacheFile, name: str, data: object) -> None:
        if others:
            with monkeypatch.context() as patch:
                # The other process has read the index before this one wrote it.
                patch.setattr(caching.IndexDataCacheFile, "_load_index", lambda _: {})
                assert total_in_new_process(others.pop()) == strided.sum()
        save_data(files, name, data)

    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", meanwhile)
    assert total_in_new_process(plain) == plain.sum()
    assert total_in_new_process(strided) == strided.sum()
    assert total_in_new_process(plain) == plain.sum()
