"""One Spark session for all tests of this folder: to start one takes seconds."""

import os

import pytest

from tests.relations.postgres import PASSWORD, VARIABLE

# Hadoop's own file systems start a process for each mode, and for each link that might be one: a
# hundred a second, each for a file of a checkpoint and once more for its checksum.
CHEAP_FILES = {
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}


@pytest.fixture(scope="session")
def spark():
    from penstock.spark.session import local

    os.environ[VARIABLE] = PASSWORD  # workers have the environment that the session began with
    session = local(cores=2, memory="1g", spark_log_level="ERROR", **CHEAP_FILES)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
