#!/usr/bin/env bash
# Builds dplib-<version>-py3-none-any.whl in dist, or in the folder $1, and prints its path. It is what
# `spark-submit --py-files` takes: the packages dplib and jobs, without their dependencies. The locked build backend of
# .venv makes it without a network, and the same sources give the same bytes.
set -euo pipefail
folder=$(mkdir -p "${1:-$(dirname "$0")/../dist}" && cd "${1:-$(dirname "$0")/../dist}" && pwd)
cd "$(dirname "$0")/.."

python=.venv/bin/python
if [ ! -x "$python" ]; then
  echo "package: .venv must exist, run make setup" >&2
  exit 1
fi
# One wheel at a time, so that the pattern dist/dplib-*.whl always names one file.
rm -f "$folder"/dplib-*.whl
# The time inside the archive is the build backend's fixed one, not today's.
if ! said=$(env -u SOURCE_DATE_EPOCH "$python" -m hatchling build --target wheel --directory "$folder" 2>&1); then
  echo "$said" >&2
  exit 1
fi
echo "$folder"/dplib-*.whl
