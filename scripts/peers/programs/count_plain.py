"""Plain Spark's count by day and item, twice in one session; no privacy."""

import json
import os
import sys
import time

from pyspark.sql import SparkSession

started = float(os.environ["STARTED"])
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
for query in ("first", "second"):
    rows = spark.read.csv(sys.argv[1], header=True).groupBy("day", "item").count()
    n_cells = len(rows.toArrow())
    print(json.dumps({"unit": "event", query: time.time() - started, "cells": n_cells}), flush=True)
    started = time.time()
