#!/usr/bin/env bash
# Creates or refreshes Airflow's environment in .venv-airflow from requirements-airflow.lock. It is not dplib's: the
# Spark provider brings pyspark-client, which clashes with the pyspark of .venv. Safe to run again: it does nothing
# when nothing changed. `make setup` comes first (its uv installs).
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv-airflow
stamp=$venv/.dplib-setup
wanted=$(cat requirements-airflow.lock scripts/airflow.sh | sha256sum | cut -d' ' -f1)

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
  exit 0
fi
if [ ! -x .venv/bin/uv ]; then
  echo "airflow: .venv must exist, run make setup" >&2
  exit 2
fi

# Airflow 3.3 knows Python 3.10 to 3.14; the lock is resolved for 3.11 and later, as the jobs are.
[ -x "$venv/bin/python" ] || .venv/bin/python -m venv "$venv"
VIRTUAL_ENV=$PWD/$venv .venv/bin/uv pip sync --quiet --compile-bytecode --require-hashes requirements-airflow.lock
echo "$wanted" >"$stamp"
