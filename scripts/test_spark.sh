#!/usr/bin/env bash
# Run tests on another version of Spark: scripts/test_spark.sh 4.0.2 [arguments of pytest]
#
# The environment .venv-spark-VERSION holds this version of PySpark and nothing else; all other
# packages are those of .venv. Without arguments the tests of the operator and of joins are run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:?name a version: scripts/test_spark.sh 4.0.2}
shift
venv=.venv-spark-$version
if [[ ! -e $venv/.complete ]]; then
    echo "test_spark: installing pyspark $version into $venv" >&2
    rm -rf "$venv"
    .venv/bin/python -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check setuptools wheel
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-build-isolation \
        "pyspark==$version"
    packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    # Read after the packages of this environment, which therefore come first.
    .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$packages/rest.pth"
    echo "$PWD/src" >>"$packages/rest.pth"
    touch "$venv/.complete"
fi

core=()
for name in exact operator late restart connect journal declared chain; do
    core+=("tests/spark/test_$name.py")
done
(($#)) || set -- -m "not slow" "${core[@]}"
JAVA_HOME=$(scripts/java.sh)
export JAVA_HOME SPARK_LOCAL_IP=${SPARK_LOCAL_IP:-127.0.0.1}
export SPARK_SUBMIT_OPTS=${SPARK_SUBMIT_OPTS:-"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"$venv/bin/python" -c 'import pyspark; print("pyspark", pyspark.__version__)'
exec "$venv/bin/python" -m pytest -q "$@"
