"""OpenDP's count by day and item, keys given, on Polars, twice: ``count_opendp.py ROWS UNIT DAYS ITEMS``."""

import json
import os
import sys
import time

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
started = float(os.environ["STARTED"])
path, unit, n_days, n_items = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for query in ("first", "second"):
    days = pl.LazyFrame({"day": [f"2024-01-{day:02}" for day in range(1, n_days + 1)]})
    keys = days.join(pl.LazyFrame({"item": [f"i{item}" for item in range(n_items)]}), how="cross")
    whose = {} if unit == "event" else {"identifier": pl.col("customer")}
    context = dp.Context.compositor(
        data=pl.scan_csv(path),
        privacy_unit=dp.unit_of(contributions=1, **whose),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
    )
    asked = context.query()
    if unit == "customer":
        asked = asked.truncate_per_group(10)
    counted = asked.group_by("day", "item").agg(dp.len()).with_keys(keys).release().collect()
    print(json.dumps({"unit": unit, query: time.time() - started, "cells": len(counted)}), flush=True)
    started = time.time()
