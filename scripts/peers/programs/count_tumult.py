"""Tumult Analytics' count by day and item, keys given, twice: ``count_tumult.py ROWS UNIT DAYS ITEMS``."""

import json
import os
import sys
import time

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

started = float(os.environ["STARTED"])
path, unit, n_days, n_items = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
columns = ["day", "item"] if unit == "event" else ["day", "item", "customer"]
for query in ("first", "second"):
    rows = spark.read.csv(path, header=True).select(*columns)
    change = AddOneRow() if unit == "event" else AddRowsWithID("customer")
    session = Session.from_dataframe(PureDPBudget(1), "rows", rows, protected_change=change)
    keys = KeySet.from_dict(
        {"day": [f"2024-01-{day:02}" for day in range(1, n_days + 1)], "item": [f"i{item}" for item in range(n_items)]}
    )
    asked = QueryBuilder("rows")
    if unit == "customer":
        asked = asked.enforce(MaxRowsPerID(10))
    counted = session.evaluate(asked.groupby(keys).count(), PureDPBudget(1)).toPandas()
    print(json.dumps({"unit": unit, query: time.time() - started, "cells": len(counted)}), flush=True)
    started = time.time()
