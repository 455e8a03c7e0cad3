"""The process from which a local session forks its Python workers: what every worker needs is loaded once, here.

Spark runs this module in the place of its own (``spark.python.daemon.module``). A worker that it forks starts without
loading numpy, pyarrow and pandas, which takes a second of each, and looks through none of that for garbage, as it does
after every task.
"""

import gc

import pandas as pd  # noqa: F401 - pyarrow loads it with the first array that it makes
import pyspark.worker  # noqa: F401 - loaded for the workers
from pyspark.daemon import manager

import dplib.spark.points.points
import dplib.spark.rows.contributions  # noqa: F401 - loaded for the workers

if __name__ == "__main__":
    gc.freeze()
    manager()
