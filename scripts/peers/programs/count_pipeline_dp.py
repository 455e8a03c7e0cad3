"""PipelineDP's count by day and item on Spark, keys given, twice in one session."""

import json
import os
import sys
import time

import pipeline_dp
from pyspark.sql import SparkSession

started = float(os.environ["STARTED"])
path, unit, n_days, n_items = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
keys = [(f"2024-01-{day:02}", f"i{item}") for day in range(1, n_days + 1) for item in range(n_items)]
for query in ("first", "second"):
    rows = spark.read.csv(path, header=True).rdd.zipWithUniqueId()
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-9)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.SparkRDDBackend(spark.sparkContext))
    bounds = {"max_contributions": 10} if unit == "customer" else {"max_contributions": 1}
    counts = engine.aggregate(
        rows,
        pipeline_dp.AggregateParams(
            metrics=[pipeline_dp.Metrics.COUNT], noise_kind=pipeline_dp.NoiseKind.LAPLACE, **bounds
        ),
        pipeline_dp.DataExtractors(
            privacy_id_extractor=(lambda row: row[1]) if unit == "event" else (lambda row: row[0].customer),
            partition_extractor=lambda row: (row[0].day, row[0].item),
            value_extractor=lambda row: 0,
        ),
        public_partitions=keys,
    )
    accountant.compute_budgets()
    counted = counts.collect()
    print(json.dumps({"unit": unit, query: time.time() - started, "cells": len(counted)}), flush=True)
    started = time.time()
