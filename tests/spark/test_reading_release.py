"""Releases as data frames of Spark: the numbers of pandas, in Spark's own types."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

import dplib
from tests.support.stored_releases import STORED

pytestmark = pytest.mark.spark
TYPES = {
    "consistent-histograms": {
        "item": "string",
        "level": "string",
        "first_day": "date",
        "last_day": "date",
        "estimate": "double",
        "published": "bigint",
    },
    "range-histograms": {"group": "string", "level": "bigint", "lo": "double", "published": "bigint"},
    "network-statistics": {"statistic": "string", "std_error": "double", "published": "bigint"},
    "minimum-cuts": {"statistic": "string", "cut": "bigint", "low": "double"},
    "kmeans": {"center": "bigint", "weight": "double", "may_be_noise": "boolean"},
    "key-selection": {"key": "string"},
}


@pytest.mark.parametrize("job", TYPES)
def test_spark_has_the_rows_of_pandas_in_its_own_types(job: str, spark: SparkSession, tmp_path: Path) -> None:
    shutil.unpack_archive(STORED / f"{job}.zip", tmp_path)
    (path,) = (tmp_path / "releases").iterdir()
    release = dplib.open_release(path)
    wanted, found = release.to_pandas(), release.to_spark(spark)
    assert found.columns == list(wanted.columns)
    assert TYPES[job].items() <= dict(found.dtypes).items()
    rows = pd.DataFrame([tuple(row) for row in found.collect()], columns=found.columns)
    for name in wanted:
        own = wanted[name].dt.date if wanted[name].dtype.kind == "M" else wanted[name]
        if own.dtype.kind == "f":
            np.testing.assert_array_equal(rows[name].to_numpy(float), own.to_numpy())
            # Where there is no number Spark has null, which its sums leave out; NaN would spoil them.
            assert not any(value != value for row in found.select(name).collect() for value in row)
        else:
            assert [None if pd.isna(value) else value for value in rows[name]] == [
                None if pd.isna(value) else value for value in own
            ]
