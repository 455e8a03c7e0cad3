#!/usr/bin/env bash
# Submits a job to Spark: `scripts/submit.sh --master spark://HOST:PORT jobs/consistent_histograms.py --config FILE`.
# The one script that knows spark-submit: it adds the wheel, this environment's Python for driver and workers, the log
# settings and conf/spark/local.conf, or conf/spark/cluster.conf where --master is not local. All arguments are passed
# on, and an option given here wins over the settings. Ends with the job's exit code.
#
# Environment: PYSPARK_PYTHON, the workers' Python where it is at another place (same packages, without dplib);
# SPARK_HOME and JAVA_HOME, where they are not those of .venv; DPLIB_WHEEL, a wheel that is built already.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

python=$root/.venv/bin/python
if [ ! -x "$python" ]; then
  echo "submit: .venv must exist, run make setup" >&2
  exit 2
fi
export PYSPARK_DRIVER_PYTHON=$python
export PYSPARK_PYTHON=${PYSPARK_PYTHON:-$python}
export SPARK_HOME=${SPARK_HOME:-$("$python" -c 'import importlib.util as u; print(u.find_spec("pyspark").submodule_search_locations[0])')}
if [ -z "${JAVA_HOME:-}" ] && [ -x "$root/.venv/jre/bin/java" ]; then
  export JAVA_HOME=$root/.venv/jre
fi

settings=$root/conf/spark/local.conf
previous=
for argument in "$@"; do
  case "$previous $argument" in
    "--master local"* | *" --master=local"*) settings=$root/conf/spark/local.conf ;;
    "--master "* | *" --master="*) settings=$root/conf/spark/cluster.conf ;;
  esac
  case "$argument" in *.py) break ;; esac # what follows belongs to the job
  previous=$argument
done

wheel=${DPLIB_WHEEL:-$("$root/scripts/package.sh")}
# Silent from the first line on: the jobs can only silence a Spark that has started.
export SPARK_SUBMIT_OPTS="-Dlog4j2.configurationFile=file:$root/dplib/spark/log4j2.properties ${SPARK_SUBMIT_OPTS:-}"
exec "$SPARK_HOME/bin/spark-submit" --properties-file "$settings" --load-spark-defaults --py-files "$wheel" "$@"
