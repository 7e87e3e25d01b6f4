"""One Spark session for all tests of this folder: to start one takes seconds."""

import pytest


@pytest.fixture(scope="session")
def spark():
    from penstock.spark.session import local

    session = local(cores=2, memory="1g", spark_log_level="ERROR")
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
