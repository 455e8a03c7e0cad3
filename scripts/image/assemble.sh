#!/usr/bin/env bash
# Lays out in the new folder $1 what the image runs: the packed environment as .venv, Spark, this project, its settings
# and the scripts that start it. Everything comes from .venv and the checkout; no network.
set -euo pipefail
[ ! -e "${1:?the folder to make}" ] || { echo "assemble: $1 must not exist yet" >&2; exit 1; }
mkdir -p "$1"
place=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."

work=$(mktemp -d "$place/work-XXXXXX")
trap 'rm -rf "$work"' EXIT
archive=$(scripts/package.sh --environment "$work")
wheel=$(scripts/package.sh "$work")
mkdir "$place/.venv"
tar -xzf "$archive" -C "$place/.venv"
spark=$(.venv/bin/python -c 'import importlib.util as u; print(u.find_spec("pyspark").submodule_search_locations[0])')
mkdir -p "$place/spark" "$place/scripts/image"
cp -r "$spark"/{bin,jars,python} "$place/spark/"
# Commands such as `dplib plan` find Spark's Python part without spark-submit.
site=$("$place/.venv/bin/python" -I -c 'import site; print(site.getsitepackages()[-1])')
for archive in "$place"/spark/python/lib/*.zip; do
  echo "../../../../spark/python/lib/$(basename "$archive")"
done >"$site/spark.pth"
# The very files of the wheel, so that an image and a submission of the same sources run the same bytes.
.venv/bin/python -m zipfile -e "$wheel" "$place"
rm -rf "$place"/dplib-*.dist-info
cp "$wheel" "$place/dplib.whl"
cp -r conf "$place/"
cp scripts/submit.sh "$place/scripts/"
cp scripts/image/entrypoint.sh "$place/scripts/image/"
printf '#!/bin/sh\nexec "${0%%/*}/python" -m dplib.cli.main "$@"\n' >"$place/.venv/bin/dplib"
chmod 755 "$place/.venv/bin/dplib"
find "$place" -name __pycache__ -path "*/spark/*" -prune -exec rm -rf {} +
"$place/.venv/bin/python" -m compileall -q --invalidation-mode unchecked-hash "$place/dplib" "$place/jobs"
