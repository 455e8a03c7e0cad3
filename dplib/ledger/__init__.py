"""The privacy ledger: accounts, reservations, measurements, audits."""
