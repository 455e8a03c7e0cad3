#!/usr/bin/env bash
# Creates or refreshes the environment in .venv: a Python (scripts/python.sh), its packages from requirements.lock, this
# project, a Java for Spark (scripts/java.sh) and an archive of Spark's classes. Safe to run again: it does nothing when
# nothing changed.
set -euo pipefail
cd "$(dirname "$0")/.."

UV_VERSION=0.13.9 # the version that requirements.lock holds too
venv=.venv
stamp=$venv/.dplib-setup
wanted=$(cat requirements.lock pyproject.toml scripts/setup.sh scripts/python.sh scripts/java.sh scripts/class_archive.py | sha256sum | cut -d' ' -f1)

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && [ -x "$venv/jre/bin/java" ]; then
  exit 0
fi

python=$(scripts/python.sh)
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
export VIRTUAL_ENV=$PWD/$venv
# Compiled once here: every process of the suite would otherwise pay for it, where Python may not write bytecode.
"$venv/bin/uv" pip sync --quiet --compile-bytecode --require-hashes requirements.lock
"$venv/bin/uv" pip install --quiet --no-deps --no-build-isolation --editable .
scripts/java.sh "$venv/jre"
# Spark starts some seconds sooner from an archive of its classes; without one all works the same.
JAVA_HOME=$PWD/$venv/jre "$venv/bin/python" -m scripts.class_archive 2>/dev/null ||
  echo "setup: no archive of Spark's classes could be made; Spark starts without one" >&2
# Machine code is kept beside its source (dplib/kept_code.py): no first run waits for a compiler.
"$venv/bin/python" -m dplib.jobs.kernels
echo "$wanted" >"$stamp"
