"""Acceptance of the faults that outside readers found: each module reproduces those of one subject."""

from scripts.accept import (
    faults_counted,
    faults_cuts,
    faults_errors,
    faults_kmeans,
    faults_ledger,
    faults_reader,
    faults_sens,
    faults_settings,
)
from scripts.accept.claims import Check

CHECKS: tuple[Check, ...] = (
    *faults_sens.CHECKS,
    *faults_errors.CHECKS,
    *faults_kmeans.CHECKS,
    *faults_cuts.CHECKS,
    *faults_reader.CHECKS,
    *faults_ledger.CHECKS,
    *faults_counted.CHECKS,
    *faults_settings.CHECKS,
)
