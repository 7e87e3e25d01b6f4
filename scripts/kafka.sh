#!/usr/bin/env bash
# Print where a Kafka broker and Spark's Kafka connector are, as two lines for `eval`:
#   KAFKA_CLASSPATH=...   of the broker: java -cp "$KAFKA_CLASSPATH" kafka.Kafka server.properties
#   KAFKA_JARS=...        of the connector, for Spark's setting spark.jars
# Both are fetched with Maven the first time, into PENSTOCK_CACHE (~/.cache/penstock).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kafka=3.9.2 # the one that the connector is built with; the broker is of the same version
python=${PYTHON:-.venv/bin/python}
if ! spark=$("$python" -c 'from importlib.metadata import version; print(version("pyspark"))' 2>/dev/null); then
    echo "kafka: $python has no pyspark: run scripts/setup.sh, or name another Python in PYTHON" >&2
    exit 1
fi
home=${PENSTOCK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/penstock}/kafka-$kafka-spark-$spark

# A dependency of the project file. Spark is installed already, so nothing is fetched for its part.
dependency() {
    echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version>"
    if [[ $1 == org.apache.spark ]]; then
        echo "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    fi
    echo "</dependency>"
}

# Fetch everything, with these versions of the connector and of its token provider.
fetch() {
    {
        echo "<project><modelVersion>4.0.0</modelVersion>"
        echo "<groupId>penstock</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>"
        dependency org.apache.spark spark-sql-kafka-0-10_2.13 "$1"
        dependency org.apache.spark spark-token-provider-kafka-0-10_2.13 "$2"
        dependency org.apache.kafka kafka_2.13 "$kafka"
        dependency org.apache.commons commons-pool2 2.13.1
        dependency org.slf4j slf4j-simple 1.7.36 # the broker's log
        echo "</dependencies></project>"
    } >"$new/pom.xml"
    (cd "$new" && mvn -B -q dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory=jars) </dev/null >"$new/log" 2>&1
}

if [[ ! -d $home ]]; then
    if ! command -v mvn >/dev/null; then
        echo "kafka: no Maven to fetch a broker with, so the tests with Kafka are skipped (Debian: apt-get install maven)" >&2
        exit 1
    fi
    mkdir -p "$(dirname "$home")"
    new=$(mktemp -d "$home.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    echo "kafka: fetching Kafka $kafka and Spark's connector with Maven (50 MB)" >&2
    # A repository that lags behind may lack our version. The others were tried on Spark 4.3.
    if fetch "$spark" "$spark"; then
        :
    elif fetch 4.2.0 4.0.0; then
        echo "kafka: the connector of Spark $spark cannot be had, so that of 4.2.0 is used (token provider of 4.0.0)" >&2
    else
        echo "kafka: Maven cannot fetch it, so the tests with Kafka are skipped: $(grep -m 1 ERROR "$new/log" | cut -c 1-300)" >&2
        exit 1
    fi
    mv -T "$new/jars" "$home" 2>/dev/null || [[ -d $home ]] # another process may have been first
fi
jars=$(printf '%s,' "$home"/{spark-sql-kafka-*,spark-token-provider-*,kafka-clients-*,commons-pool2-*}.jar)
echo "KAFKA_CLASSPATH='$home/*'"
echo "KAFKA_JARS='${jars%,}'"
