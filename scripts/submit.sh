#!/usr/bin/env bash
# Submits a job to Spark: `scripts/submit.sh --master spark://HOST:PORT jobs/consistent_histograms.py --config FILE`.
# The one script that knows spark-submit: it adds the wheel, the Python of driver and executors, the log settings and
# the settings of conf/spark that the master asks for (local, standalone, yarn or kubernetes). All arguments are passed
# on, and an option given here wins over the settings. Ends with the job's exit code.
#
# Environment: DPLIB_ENVIRONMENT, a packed environment (`scripts/package.sh --environment`) for executors on machines
# without our packages; PYSPARK_PYTHON, the executors' Python where it is at another place (same packages, without
# dplib); SPARK_HOME and JAVA_HOME, where they are not those of .venv; DPLIB_WHEEL, a wheel that is built already.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

refuse() { # a sentence
  echo "submit: $1" >&2
  exit 2
}

python=$root/.venv/bin/python
[ -x "$python" ] || refuse ".venv must exist, run make setup"

# What spark-submit reads before the job's file; what follows belongs to the job.
master= mode=client archives=
words=("$@")
for ((i = 0; i < $#; i++)); do
  name=${words[i]%%=*} value=${words[i]#*=}
  case ${words[i]} in
    --verbose | -v | --supervise | --load-spark-defaults | --help | -h | --version) continue ;;
    --*=*) ;;
    -*) i=$((i + 1)) value=${words[i]:-} ;;
    *) break ;;
  esac
  case "$name $value" in
    "--master "*) master=$value ;;
    "--deploy-mode "*) mode=$value ;;
    "--archives "*) archives=$value ;;
    "--conf spark.master="* | "-c spark.master="*) master=${value#spark.master=} ;;
    "--conf spark.submit.deployMode="* | "-c spark.submit.deployMode="*) mode=${value#spark.submit.deployMode=} ;;
  esac
done

options=()
[ -n "$master" ] || { master="local[*]" options+=(--master "$master"); }
case $master in
  local | "local["*) kind=local ;;
  spark://*) kind=standalone ;;
  yarn) kind=yarn ;;
  k8s://*) kind=kubernetes ;;
  *) refuse "--master must be local, local[N], spark://HOST:PORT, yarn or k8s://URL, got $master" ;;
esac
if [ "$kind $mode" = "standalone cluster" ]; then
  refuse "--deploy-mode must be client on a standalone cluster, where Spark runs no Python driver, got cluster"
fi

export PYSPARK_DRIVER_PYTHON=$python
executors=$python
if [ "$kind" = kubernetes ]; then
  executors=/opt/dplib/.venv/bin/python # of scripts/image/Containerfile
fi
if [ -n "${DPLIB_ENVIRONMENT:-}" ] && [ "$kind" != local ]; then
  [ -f "$DPLIB_ENVIRONMENT" ] || refuse "DPLIB_ENVIRONMENT must name a packed environment, got $DPLIB_ENVIRONMENT"
  [ -z "$archives" ] || refuse "--archives must be absent where DPLIB_ENVIRONMENT is set, got $archives"
  options+=(--archives "$DPLIB_ENVIRONMENT#environment")
  executors=./environment/bin/python
fi
export PYSPARK_PYTHON=${PYSPARK_PYTHON:-$executors}
if [ "$mode" = cluster ]; then
  export PYSPARK_DRIVER_PYTHON=$PYSPARK_PYTHON # the driver starts where executors do
fi

export SPARK_HOME=${SPARK_HOME:-$("$python" -c 'import importlib.util as u; print(u.find_spec("pyspark").submodule_search_locations[0])')}
if [ -z "${JAVA_HOME:-}" ] && [ -x "$root/.venv/jre/bin/java" ]; then
  export JAVA_HOME=$root/.venv/jre
fi

# In cluster mode on Kubernetes the driver starts from the image, which holds the packages itself.
if [ "$kind $mode" != "kubernetes cluster" ]; then
  options+=(--py-files "${DPLIB_WHEEL:-$("$root/scripts/package.sh")}")
fi
# Silent from the first line on: the jobs can only silence a Spark that has started.
export SPARK_SUBMIT_OPTS="-Dlog4j2.configurationFile=file:$root/dplib/spark/engine/log4j2.properties ${SPARK_SUBMIT_OPTS:-}"
exec "$SPARK_HOME/bin/spark-submit" --properties-file "$root/conf/spark/$kind.conf" --load-spark-defaults \
  "${options[@]}" "$@"
