#!/usr/bin/env bash
# Releases the flights of New York City in 2013 with conf/nycflights13.yaml. What it makes (sample, secret, ledger,
# release) stays in the checkout and is ignored by git; a second run finds the release and spends nothing.
# The last line of its output is the release directory alone.
set -euo pipefail
cd "$(dirname "$0")/.."

[ -f data/flights.csv ] || .venv/bin/python -m scripts.make_data flights data >&2
.venv/bin/dplib init --config conf/nycflights13.yaml --budget 10 --yes >&2
.venv/bin/dplib run consistent-histograms --config conf/nycflights13.yaml
