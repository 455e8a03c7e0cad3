"""Acceptance of operations: Airflow, clusters, Spark Connect, tables, the ledger, recovery, sizing, documentation."""

from scripts.accept import (
    operations_airflow,
    operations_cluster,
    operations_docs,
    operations_ledger,
    operations_recovery,
    operations_sizing,
    operations_tables,
)
from scripts.accept.claims import Check

CHECKS: list[Check] = [
    *operations_docs.CHECKS,
    *operations_ledger.CHECKS,
    *operations_recovery.CHECKS,
    *operations_tables.CHECKS,
    *operations_cluster.CHECKS,
    *operations_airflow.CHECKS,
    *operations_sizing.CHECKS,
]
