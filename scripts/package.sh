#!/usr/bin/env bash
# Builds what spark-submit takes along, in dist or in the folder named last, and prints its path.
#   scripts/package.sh [FOLDER]                dplib-<version>-py3-none-any.whl for --py-files: the package dplib without
#                                              its dependencies
#   scripts/package.sh --environment [FOLDER]  dplib-environment-<Python>-<platform>.tar.gz for --archives: Python and
#                                              the dependencies, for machines that have neither (needed again only
#                                              when requirements.lock changes)
# Both are made from .venv without a network, and the same sources give the same bytes.
set -euo pipefail
what=wheel
if [ "${1:-}" = --environment ]; then
  what=environment
  shift
fi
folder=$(mkdir -p "${1:-$(dirname "$0")/../dist}" && cd "${1:-$(dirname "$0")/../dist}" && pwd)
cd "$(dirname "$0")/.."

python=.venv/bin/python
if [ ! -x "$python" ]; then
  echo "package: .venv must exist, run make setup" >&2
  exit 1
fi
if [ "$what" = environment ]; then
  exec "$python" -m scripts.pack_environment "$folder"
fi
# One wheel at a time, so that the pattern dist/dplib-*.whl always names one file.
rm -f "$folder"/dplib-*.whl
# The time inside the archive is the build backend's fixed one, not today's.
if ! said=$(env -u SOURCE_DATE_EPOCH "$python" -m hatchling build --target wheel --directory "$folder" 2>&1); then
  echo "$said" >&2
  exit 1
fi
echo "$folder"/dplib-*.whl
