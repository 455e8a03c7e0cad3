"""What outlives a run: ledger, stored measurement, manifest and release."""
