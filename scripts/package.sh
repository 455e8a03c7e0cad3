#!/usr/bin/env bash
# Builds dist/dplib-<version>-py3-none-any.whl, which is what `spark-submit --py-files` takes: the packages dplib and jobs,
# without their dependencies. It uses the locked build backend of .venv and no network, and the same sources give the
# same bytes. Prints the wheel's path.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
if [ ! -x "$python" ]; then
  echo "package: .venv must exist, run make setup" >&2
  exit 1
fi
# One wheel at a time, so that the pattern dist/dplib-*.whl always names one file.
rm -f dist/dplib-*.whl
# The time inside the archive is the build backend's fixed one, not today's.
env -u SOURCE_DATE_EPOCH "$python" -m hatchling build --target wheel --directory dist >/dev/null
echo "$PWD"/dist/dplib-*.whl
