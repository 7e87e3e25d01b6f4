"""One Spark session for all tests of this folder: to start one takes seconds."""

import os
import warnings

import pytest
from _pytest.runner import runtestprotocol

from tests.relations.postgres import PASSWORD, VARIABLE

# Hadoop's own file systems start a process for each mode, and for each link that might be one: a
# hundred a second, each for a file of a checkpoint and once more for its checksum.
CHEAP_FILES = {
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}
# Spark gives its first Python worker 10 seconds to start, whatever the settings: on a machine that
# is busy otherwise a query may fail with this before a line of Penstock has run.
TOO_BUSY = "Python worker failed to connect back"
STARTS = 3


def pytest_runtest_protocol(item, nextitem):
    """Start a test anew that failed for no other reason than that the machine was too busy."""
    if not item.get_closest_marker("spark"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for start in range(STARTS):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = [report for report in reports if report.failed]
        if start + 1 == STARTS or not any(TOO_BUSY in report.longreprtext for report in failed):
            break
        warnings.warn(f"{item.nodeid} is started anew: {TOO_BUSY}", stacklevel=1)
        item._initrequest()  # fixtures are made anew
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="session")
def spark():
    from penstock.spark.session import local

    os.environ[VARIABLE] = PASSWORD  # workers have the environment that the session began with
    session = local(cores=2, memory="1g", spark_log_level="ERROR", **CHEAP_FILES)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
