#!/usr/bin/env bash
# Prints the Python to make the environment with: $PYTHON, or the first on PATH that was built with a profile of what it
# runs (distributions build so, what is compiled at home often is not and takes longer for all it does), or the first.
set -euo pipefail
# Debian keeps what makes an environment in python3-venv.
kind='
import ensurepip, sys, sysconfig
options = sysconfig.get_config_var("CONFIG_ARGS") or ""
if (3, 11) <= sys.version_info[:2] < (3, 14):
    print("quick" if sys.base_prefix == "/usr" or "--enable-optimizations" in options else "slow")'

python=${PYTHON:-}
if [ -z "$python" ]; then
  while read -r candidate; do
    case $("$candidate" -c "$kind" 2>/dev/null) in
    quick) python=$candidate && break ;;
    slow) slow=${slow:-$candidate} ;;
    esac
  done < <(type -ap python3.12 python3.11 python3.13 python3)
  python=${python:-${slow:-}}
fi
if [ -z "$python" ]; then
  echo "setup: Python 3.11, 3.12 or 3.13 with its venv module must be on PATH (or set PYTHON), found none" >&2
  exit 1
fi
echo "$python"
