#!/usr/bin/env bash
# What the image runs:
#   dplib ...     the command line, for plans, ledgers, queries, and runs in local mode
#   submit ...    scripts/submit.sh: a driver here, executors in local mode or on a cluster
#   driver ...    started by Kubernetes in cluster mode; what follows are arguments of spark-submit
#   executor      started by Kubernetes; Spark says in the environment which driver it belongs to
# and any other command as it stands.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
export SPARK_HOME=${SPARK_HOME:-$root/spark}

case ${1:-} in
  dplib)
    exec "$root/.venv/bin/dplib" "${@:2}"
    ;;
  submit)
    exec "$root/scripts/submit.sh" "${@:2}"
    ;;
  driver)
    export SPARK_SUBMIT_OPTS="-Dlog4j2.configurationFile=file:$root/dplib/spark/engine/log4j2.properties"
    exec "$SPARK_HOME/bin/spark-submit" --deploy-mode client \
      --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" "${@:2}"
    ;;
  executor)
    options=()
    for ((i = 0; ; i++)); do
      name=SPARK_JAVA_OPT_$i
      [ -n "${!name+x}" ] || break
      options+=("${!name}")
    done
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    exec "$java" "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
      -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/jars/*" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
      --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
      --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
    ;;
  *)
    exec "$@"
    ;;
esac
