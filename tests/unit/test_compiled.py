import importlib
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numba.core import caching
from numpy.typing import NDArray

from dplib import compiled as module
from dplib.compiled import compiled

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
USE = "import numpy as np; from counted import total; print(total(np.arange(4.0)), len(total.nopython_signatures))"


@pytest.mark.parametrize("archive", ["counted.whl", "counted.zip", None])
def test_a_function_compiles_from_a_folder_and_from_an_archive(tmp_path: Path, archive: str | None) -> None:
    place = tmp_path / archive if archive else tmp_path
    if archive:
        with zipfile.ZipFile(place, "w") as file:
            file.writestr("counted.py", SOURCE)
    else:
        (place / "counted.py").write_text(SOURCE)
    code = f"import sys; sys.path.insert(0, {str(place)!r}); {USE}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "6.0 1\n", done.stderr
    # Kept beside a source file only.
    assert bool(list(tmp_path.rglob("*.nbc"))) == (archive is None)


def test_an_installation_that_nobody_may_write_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])

    @compiled
    def double(x: float) -> float:
        return 2 * x

    assert double(2.0) == 4.0
    with pytest.raises(RuntimeError, match="no locator available"):
        module._Cache(cast(Any, double).py_func)


def test_two_processes_that_compile_for_two_kinds_of_arrays_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counted.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    plain, strided = np.arange(6.0), np.arange(12.0)[::2]

    def total_in_new_process(values: FloatArray) -> float:
        # A module loaded anew knows only what is kept on disk.
        sys.modules.pop("counted", None)
        return float(importlib.import_module("counted").total(values))

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
