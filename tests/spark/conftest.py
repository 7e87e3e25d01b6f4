"""One Spark session for all tests of this folder: to start one takes seconds."""

import os

import pytest

from tests.relations.postgres import PASSWORD, VARIABLE


@pytest.fixture(scope="session")
def spark():
    from penstock.spark.session import local

    os.environ[VARIABLE] = PASSWORD  # workers have the environment that the session began with
    session = local(cores=2, memory="1g", spark_log_level="ERROR")
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
