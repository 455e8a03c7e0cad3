import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dplib import compiled as module

SOURCE = """
from dplib.compiled import compiled

@compiled
def total(values):
    result = 0.0
    for value in values:
        result += value
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
    import numba

    tried = []

    def njit(cache: bool) -> object:
        tried.append(cache)
        if cache:
            raise RuntimeError("no locator available")
        return lambda function: function

    monkeypatch.setattr(numba, "njit", njit)

    def double(x: np.ndarray) -> np.ndarray:
        return 2 * x

    assert module.compiled(double) is double
    assert tried == [True, False]
