"""A store in PostgreSQL: what an operator does with it, and what a server does to it."""
import contextlib
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile

import psycopg2
import pytest

from conftest import BINARY, DENIED, LOST, REFUSED, ROOT, UNREACHABLE, USAGE, Cli, wait_until
from relay import Relay

sys.path.insert(0, str(ROOT / "tests/store"))
import postgres_server  # noqa: E402

pytestmark = pytest.mark.skipif(not postgres_server.available(), reason="needs PostgreSQL")

RIGHTS = re.compile(r"GRANT [^;]*;")  # as docs/stores.md gives them


@pytest.fixture(scope="module")
def server():
    with tempfile.TemporaryDirectory(prefix="tenure-pg-") as directory:
        os.chmod(directory, 0o755)
        made = postgres_server.Server(f"{directory}/server")
        made.start()
        made.sql("CREATE DATABASE tenure")
        made.sql("CREATE ROLE app LOGIN")
        yield made
        made.stop(signal.SIGQUIT)


_schemas = iter(range(1, 1000))


@pytest.fixture
def schema():
    return f"e2e_{next(_schemas)}"


@pytest.fixture
def store(server, schema):
    url = server.url("tenure", f"&schema={schema}")
    done = subprocess.run([str(BINARY), "store", "init", "--store", url], capture_output=True,
                          text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.strip() == url
    return url


def ask(server, question):
    return server.sql(question, "tenure")


def grant_rights(server, schema):
    """To the role app, those that the page names."""
    page = (ROOT / "docs/stores.md").read_text()
    grants = [g.replace("tenure.", f"{schema}.").replace("SCHEMA tenure", f"SCHEMA {schema}")
              for g in RIGHTS.findall(page)]
    assert len(grants) == 2
    for grant in grants:
        ask(server, grant)


def holds(cli, ttl="6s", name="job"):
    """A command that says so each time that it reads a line, while it holds."""
    process = cli.start("lock", "--ttl", ttl, name, "--", "sh", "-c",
                        "echo $TENURE_TOKEN; exec sleep 1000")
    return process, int(process.out.wait_for(str.isdigit))


def beats(server, schema):
    return int(ask(server, f"SELECT max(beat) FROM {schema}.session") or 0)


def renewed(server, schema, times=2):
    """Waits for renewals that come after now."""
    until = beats(server, schema) + times
    wait_until(lambda: beats(server, schema) >= until, f"{times} renewals")


# ---- the schema ----------------------------------------------------------------------------------


def test_without_init_there_is_no_store_and_nothing_is_made(cli, server):
    cli.env["TENURE_STORE"] = server.url("tenure", "&schema=nowhere")
    done = cli.run("lock", "job", "--", "true")
    assert done.code == DENIED and "tenure store init" in done.err
    for command in (["status"], ["doctor"], ["store", "upgrade"]):  # as where there is no file
        done = cli.run(*command)
        assert done.code == UNREACHABLE and "tenure store init" in done.err, command
    assert ask(server, "SELECT count(*) FROM pg_namespace WHERE nspname = 'nowhere'") == "0"


def test_a_watch_waits_for_init_and_reports_from_the_beginning(cli, server):
    cli.env["TENURE_STORE"] = server.url("tenure", "&schema=later")
    watch = cli.start("watch")
    watch.err.wait_for("tenure store init")
    assert cli.run("store", "init").code == 0
    token = cli.lock_once()
    watch.out.wait_for(lambda line: '"granted"' in line and f'"token":{token},' in line)
    assert not any('"initial":true' in line for line in watch.out.lines)


def test_init_a_second_time_changes_nothing(cli):
    token = cli.run("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN").out
    assert cli.run("store", "init").code == 0
    assert int(cli.run("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN").out) > int(token)


@pytest.mark.parametrize("version", [0, 99])
def test_a_schema_of_another_version_is_refused(cli, server, schema, version):
    ask(server, f"UPDATE {schema}.meta SET version = {version}")
    for command in ("lock", "job", "--", "true"), ("store", "init"), ("store", "upgrade"), \
            ("store", "check", "--raise-to", "1000"):
        done = cli.run(*command)
        assert done.code == DENIED and f"version {version}" in done.err
        assert ("newer" in done.err) == (version == 99)


# What makes a schema of the version after it one of this one.
BACK_TO = {
    2: """
        DROP TRIGGER deleted ON {0}.record; DROP TRIGGER truncated ON {0}.record;
        DROP FUNCTION {0}.note_deletion; ALTER TABLE {0}.meta DROP COLUMN deletion;
        DROP FUNCTION {0}.session_renew; DROP FUNCTION {0}.hello;
        CREATE FUNCTION {0}.hello(high bigint, OUT version integer, OUT now bigint,
            OUT floor bigint, OUT last bigint, OUT changes bigint, OUT backend integer)
            LANGUAGE sql SECURITY DEFINER
            AS 'SELECT m.version, 1::bigint, 1::bigint, 1::bigint, 1::bigint, 1 FROM {0}.meta m';
        REVOKE ALL ON FUNCTION {0}.hello FROM PUBLIC;
        GRANT EXECUTE ON FUNCTION {0}.hello TO app;
        CREATE FUNCTION {0}.session_renew(id bigint, heard bigint, high bigint, OUT state integer,
            OUT now bigint, OUT expires bigint, OUT beat bigint, OUT noticed boolean)
            LANGUAGE sql SECURITY DEFINER AS 'SELECT 2, 1::bigint, 1::bigint, 1::bigint, false';
        REVOKE ALL ON FUNCTION {0}.session_renew FROM PUBLIC;
        GRANT EXECUTE ON FUNCTION {0}.session_renew TO app; UPDATE {0}.meta SET version = 2""",
    1: """
        ALTER TABLE {0}.session DROP COLUMN died; DROP FUNCTION {0}.session_close;
        CREATE FUNCTION {0}.session_close(id bigint) RETURNS boolean LANGUAGE sql
            SECURITY DEFINER AS 'DELETE FROM {0}.session s WHERE s.id = $1 RETURNING true';
        REVOKE ALL ON FUNCTION {0}.session_close FROM PUBLIC;
        GRANT EXECUTE ON FUNCTION {0}.session_close TO app; UPDATE {0}.meta SET version = 1"""}


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_schema_is_brought_forward_with_its_rights_and_its_tokens(cli, server, schema,
                                                                          version):
    grant_rights(server, schema)
    holder, token = holds(cli, "60s")
    for step in range(2, version - 1, -1):
        ask(server, BACK_TO[step].format(schema))
    refused = cli.run("lock", "-n", "job", "--", "true")
    assert refused.code == DENIED and "tenure store upgrade" in refused.err
    assert cli.run("store", "upgrade").code == 0
    assert cli.run("store", "upgrade").code == 0  # and nothing more is to be done
    cli.env["TENURE_STORE"] = cli.store.replace("postgres@", "app@")
    assert cli.holders("job")[0]["token"] == token
    holder.send(signal.SIGTERM)
    holder.wait()
    later = cli.run("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    assert later.code == 0 and int(later.out) > token
    assert ask(server, f"SELECT count(*) FROM {schema}.session") == "0"  # it closed them


def back_to_revision_1(server, schema):
    """What `store init` made before there were revisions, as far as they differ."""
    apply = server.sql("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'apply' AND "
                       f"pronamespace = '{schema}'::regnamespace", "tenure")
    server.sql(f"{apply.replace('m.bell', 'NULL::bytea')}; ALTER TABLE {schema}.meta DROP bell; "
               f"COMMENT ON FUNCTION {schema}.apply IS NULL", "tenure")


def revision(server, schema):
    return server.sql("SELECT obj_description(oid, 'pg_proc') FROM pg_proc WHERE proname = 'apply' "
                      f"AND pronamespace = '{schema}'::regnamespace", "tenure")


def test_functions_of_an_older_revision_serve_until_their_owner_upgrades_them(cli, server, schema):
    grant_rights(server, schema)
    now = revision(server, schema)
    back_to_revision_1(server, schema)
    owner = cli.env["TENURE_STORE"]
    user = cli.env["TENURE_STORE"] = owner.replace("postgres@", "app@")
    holder, token = holds(cli, "60s")
    assert "store upgrade" in cli.run("doctor").out
    denied = cli.run("store", "upgrade")
    assert denied.code == DENIED and "permission denied" in denied.err
    cli.env["TENURE_STORE"] = owner
    assert cli.run("store", "upgrade").code == 0 and revision(server, schema) == now
    cli.env["TENURE_STORE"] = user
    assert cli.run("store", "upgrade").code == 0  # nothing is left to be done
    assert "store upgrade" not in cli.run("doctor").out
    assert cli.holders("job")[0]["token"] == token
    holder.send(signal.SIGTERM)
    holder.wait()
    assert cli.lock_once() > token


def test_an_upgrade_and_a_reader_do_not_wait_for_each_other(cli, server, schema):
    """Calls open the tables in orders of their own: a reader, for one, meta before the rest."""
    now = revision(server, schema)
    back_to_revision_1(server, schema)
    in_the_way, reader = server.connect("tenure"), server.connect("tenure")
    with in_the_way.cursor() as cursor:
        cursor.execute(f"SELECT FROM {schema}.record")
    upgrade = cli.start("store", "upgrade")
    waits = ("SELECT count(*) FROM pg_locks WHERE NOT granted AND "
             f"relation = '{schema}.record'::regclass")
    wait_until(lambda: ask(server, waits) == "1")
    with reader.cursor() as cursor:
        cursor.execute(f"SELECT FROM {schema}.meta")
        in_the_way.close()
        cursor.execute(f"SELECT FROM {schema}.session")
    reader.close()
    assert upgrade.wait() == 0 and revision(server, schema) == now


def test_functions_of_a_newer_revision_are_left_alone(cli, server, schema):
    newer = "tenure, revision 999"
    server.sql(f"COMMENT ON FUNCTION {schema}.apply IS '{newer}'", "tenure")
    for verb in "init", "upgrade":
        assert cli.run("store", verb).code == 0
    assert revision(server, schema) == newer
    assert "store upgrade" not in cli.run("doctor").out


def test_a_role_with_the_documented_rights_can_use_it_and_nothing_else(cli, server, schema):
    cli.env["TENURE_STORE"] = cli.store.replace("postgres@", "app@")
    done = cli.run("lock", "job", "--", "true")
    assert done.code == DENIED and "permission denied" in done.err
    assert "stores.md says what a role needs" in done.err
    done = cli.run("store", "upgrade")  # it is a store, which this role may not read
    assert done.code == DENIED and "permission denied" in done.err and "no store" not in done.err
    grant_rights(server, schema)
    assert cli.run("lock", "job", "--", "true").code == 0
    assert cli.run("lease", "take", "l", "--ttl", "1m").code == 0
    assert cli.status()["job"]["holders"] == []
    assert cli.run("history", "job").code == 0
    for table in "record", "session", "meta", "token":
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            server.sql(f"SELECT * FROM {schema}.{table}", "tenure", "app")
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        server.sql(f"SELECT {schema}.raise_tokens(10)", "tenure", "app")


# ---- URLs ----------------------------------------------------------------------------------------


def test_a_password_is_shown_nowhere_and_reaches_the_command(cli):
    cli.env["TENURE_STORE"] = cli.store.replace("postgres@", "postgres:s3cr3t@")
    done = cli.run("lock", "-v", "job", "--", "sh", "-c", "env | grep ^TENURE_STORE")
    assert done.code == 0 and "s3cr3t" in done.out and "s3cr3t" not in done.err
    for command in ["status"], ["status", "--json"], ["doctor"], ["store", "check"], \
            ["store", "init"], ["lease", "take", "l", "--json"]:
        done = cli.run(*command)
        assert "s3cr3t" not in done.out + done.err, command
    cli.env["TENURE_STORE"] = "postgres://a:s3cr3t@h:nonsense/db"
    done = cli.run("status")
    assert done.code == USAGE or done.code != 0
    assert "s3cr3t" not in done.out + done.err


# ---- connections ---------------------------------------------------------------------------------


def test_the_end_of_its_connections_costs_a_holder_nothing(cli, server, schema):
    holder, token = holds(cli)
    waiter = cli.start("lock", "job", "--", "true")
    cli.wait_for_waiters("job", 1)
    for _ in range(3):
        ask(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                    "application_name = 'tenure'")
        renewed(server, schema)
    assert holder.running and cli.holders("job")[0]["token"] == token
    holder.send(signal.SIGTERM)
    assert waiter.wait() == 0


def test_a_server_that_is_started_anew_finds_its_holder(cli, server, schema):
    holder, token = holds(cli)
    for how in signal.SIGINT, signal.SIGQUIT:
        server.stop(how)
        server.start()
        renewed(server, schema)
        assert holder.running and cli.holders("job")[0]["token"] == token
    holder.send(signal.SIGTERM)
    holder.wait()
    assert cli.run("lock", "-n", "job", "--", "true").code == 0


def test_connections_that_are_closed_when_idle_cost_nothing(cli, server, schema):
    for setting in "idle_session_timeout = '200ms'", "statement_timeout = '1s'", \
            "idle_in_transaction_session_timeout = '200ms'":
        server.sql(f"ALTER DATABASE tenure SET {setting}")
    try:
        holder, token = holds(cli)
        waiter = cli.start("lock", "job", "--", "true")
        cli.wait_for_waiters("job", 1)
        renewed(server, schema, 3)
        assert holder.running and cli.holders("job")[0]["token"] == token
        assert holder.err.lines == []
        holder.send(signal.SIGTERM)
        assert waiter.wait() == 0
    finally:
        server.sql("ALTER DATABASE tenure RESET ALL")


# ---- processes -----------------------------------------------------------------------------------


class Disguise(Relay):
    """Lets a pooler say that it is the server's process `pid`, so that it looks like the server."""

    def __init__(self, target, pid):
        self.pid = struct.pack(">i", pid)
        super().__init__(target)

    def _carry(self, one, data):
        before, mark, rest = data.partition(b"K\0\0\0\x0c")  # BackendKeyData
        super()._carry(one, before + mark + self.pid + rest[4:] if mark else data)


# P3: whatever stands between it and its server, a holder's renewals go on.
@pytest.mark.skipif(not postgres_server.available(pooler=True), reason="needs PgBouncer")
def test_a_pooler_that_does_not_show_itself_costs_a_holder_nothing(cli, server, schema):
    named = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'tenure_%'"
    pooler = postgres_server.Pooler(server, "tenure", size=1)
    relay = Disguise(f"{server.directory}/.s.PGSQL.{pooler.port}",
                     int(pooler.sql("SELECT pg_backend_pid()", "tenure")))
    cli.env["TENURE_STORE"] = (f"postgres://postgres@127.0.0.1:{relay.port}/tenure"
                               f"?schema={schema}")
    try:
        holder, token = holds(cli, "1s")
        wait_until(lambda: pooler.sql(named, "tenure") != "0", "a statement has a name")
        second, _ = holds(cli, "1s", "other")    # finds its names taken
        pooler.sql("DEALLOCATE ALL", "tenure")  # the first one finds them lost
        for _ in range(6):
            renewed(server, schema)
        assert holder.running and second.running
        assert cli.holders("job")[0]["token"] == token
    finally:
        relay.close()
        pooler.stop()


def test_a_killed_supervisor_is_followed_long_before_its_ttl(cli):
    holder, _ = holds(cli, "60s")
    waiter = cli.start("lock", "job", "--", "true")
    cli.wait_for_waiters("job", 1)
    holder.send(signal.SIGKILL)
    assert waiter.wait(20) == 0


def test_sessions_that_died_a_day_ago_are_tidied_up(cli, server, schema):
    holder, _ = holds(cli)
    holder.send(signal.SIGTERM)
    holder.wait()
    ask(server, f"INSERT INTO {schema}.session (id, ttl_ms, expires, suspected) "
                f"SELECT g, 1000, 1, 1 FROM generate_series(1000001, 1000100) g")
    for _ in range(300):  # one in twenty tidies up
        cli.run("lock", "job", "--", "true")
        if ask(server, f"SELECT count(*) FROM {schema}.session WHERE id > 1000000") == "0":
            return
    raise AssertionError("they are still there")


# ---- what others do to it ------------------------------------------------------------------------


@pytest.mark.parametrize("deed", ["DELETE FROM {}.record", "TRUNCATE {}.record",
                                  "DELETE FROM {}.session"])
def test_what_is_deleted_behind_our_back_is_lost_and_tokens_go_on(cli, server, schema, deed):
    holder, token = holds(cli, "2s")
    renewed(server, schema)  # so it is at rest
    ask(server, deed.format(schema))
    assert holder.wait() == LOST
    later = cli.run("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    assert later.code == 0 and int(later.out) > token


def calls(server, schema, *functions):
    return int(ask(server, "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE "
                           f"schemaname = '{schema}' AND funcname IN {(*functions, '')}"))


def test_who_only_holds_sends_renewals_and_nothing_else(cli, server, schema):
    """P9: it need not look whether its records are still there: a renewal says so."""
    ask(server, "ALTER DATABASE tenure SET track_functions = 'all'")
    holds(cli, "1500ms")
    ask(server, "ALTER DATABASE tenure RESET track_functions")

    def renewals():
        return calls(server, schema, "session_renew")

    def rest():
        """What else it asked during some renewals."""
        before, until = calls(server, schema, "apply", "poll", "ring"), renewals() + 5
        wait_until(lambda: renewals() >= until, "renewals")
        return calls(server, schema, "apply", "poll", "ring") - before

    wait_until(lambda: rest() == 0, "the rest")


def test_a_store_put_back_is_refused_until_its_tokens_are_raised(cli, server, schema):
    copy = subprocess.run([f"{postgres_server.programs()}/pg_dump", "-h", str(server.directory),
                           "-p", str(server.port), "-U", "postgres", "--inserts", "-n", schema,
                           "tenure"], capture_output=True, text=True, check=True).stdout
    token = cli.run("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN").out.strip()
    ask(server, f"DROP SCHEMA {schema} CASCADE")
    ask(server, "\n".join(line for line in copy.splitlines() if line[:1] != "\\"))  # not psql's
    done = cli.run("lock", "job", "--", "true")
    assert done.code not in (0, REFUSED) and "put back from a copy" in done.err
    assert "--raise-to" in done.err
    done = cli.run("store", "check", "--raise-to", str(int(token) + 1000))
    assert "tokens go on above" in done.err, done.err
    later = cli.run("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    assert later.code == 0 and int(later.out) > int(token) + 1000


def test_who_remembers_a_later_token_refuses_a_store_that_went_back(cli, server, schema):
    holder, token = holds(cli, "2s")
    ask(server, f"SELECT setval('{schema}.token', 1)")
    assert holder.wait() == LOST
    wait_until(lambda: "went back in time" in "\n".join(holder.err.lines), "the reason")


def apply(link, schema, decisions, high=0, draw=0):
    """Asks as a process does: decisions of (key, seen, fresh, [(session, mode)]), in one call."""
    columns = [[] for _ in range(7)] + [[0], [], [], []]
    for key, seen, fresh, sessions in decisions:
        for column, value in zip(columns, (key, seen, fresh, b"new" if fresh > 0 else None,
                                           0, 0, 0)):
            column.append(value)
        for column, value in zip(columns[8:], zip(*((*s, 1) for s in sessions))):
            column.extend(value)
        columns[7].append(len(columns[8]))
    kinds = "text bigint bigint bytea bigint bigint bigint integer bigint integer bigint".split()
    casts = ", ".join(f"%s::{kind}[]" for kind in kinds)
    with link, link.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {schema}.apply({casts}, {schema}.clock(), 1000, %s, %s)",
                       (*columns, high, draw))
        return cursor.fetchall()


@pytest.fixture
def link(server):
    with contextlib.closing(server.connect("tenure")) as made:
        yield made


def lives(server, schema):
    return int(ask(server, f"SELECT session FROM {schema}.session_open(60000, 0)"))


def put(server, schema, key, version, *sessions):
    """A record, without a client."""
    ask(server, f"INSERT INTO {schema}.record VALUES ('{key}', {version}, 0, "
                f"'{{{', '.join(map(str, sessions))}}}', 'old')")


WAYS = {  # by which apply() may come to draw tokens: what was decided by one, and by another
    "one": [("a", 7, 8, "one")], "several sessions": [("a", 7, 8, "both")],
    "many names": [("a", 7, 8, "one"), ("b", 7, 8, "one")], "a look": [("a", 6, 0, "both")],
    "a look at what is the same": [("a", 7, 0, "both")],
}


def decided(server, schema, way):
    one, other = lives(server, schema), lives(server, schema)
    for key in "ab":
        put(server, schema, key, 7, one, other)
    who = {"one": [(one, 0)], "both": [(one, 0), (other, 4)]}
    return [(key, seen, fresh, who[whose]) for key, seen, fresh, whose in WAYS[way]]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("way", WAYS)
def test_a_store_that_went_back_by_less_than_is_drawn_is_refused(server, link, schema, way):
    decisions = decided(server, schema, way)
    last = int(ask(server, f"SELECT last_value FROM {schema}.token"))
    with pytest.raises(psycopg2.Error, match="went back in time"):
        apply(link, schema, decisions, high=last + 2, draw=4)
    assert ask(server, f"SELECT count(*) FROM {schema}.record WHERE version <> 7") == "0"


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("way", WAYS)
def test_tokens_are_drawn_once_and_after_all_that_was_seen(server, link, schema, way):
    decisions = decided(server, schema, way)
    last = int(ask(server, f"SELECT last_value FROM {schema}.token"))
    rows = apply(link, schema, decisions, high=last, draw=4)
    assert [row[2] for row in rows if row[0] == 1] == [last + 1, last + 2, last + 3, last + 4]
    rows = apply(link, schema, [(key, 5, 9, who) for key, _, _, who in decisions], draw=1)
    assert [row[2] for row in rows if row[0] == 1] == [last + 5], "what was lost draws as much"


@pytest.mark.usefixtures("store")
def test_who_looks_a_second_time_is_told_of_all_that_the_record_names(server, link, schema):
    me, before, new = (lives(server, schema) for _ in range(3))

    def told(*relied):
        rows = apply(link, schema, [("a", 6, 0, relied)])
        assert [bytes(row[6]) for row in rows if row[0] == 3] == [b"old"]
        return {row[2] for row in rows if row[0] == 4}

    put(server, schema, "a", 7, me, new)
    assert told((me, 0), (before, 4)) == {me}, "at first it is granted something, most likely"
    assert told((me, 0), (before, 0)) == {me, before, new}
    assert told((me, 0)) == {me, new}


# What a decision relies on, by whom and how: in the order that is quick, and in any other.
RELIED = [("a", 0), ("b", 4)], [("b", 4), ("a", 0)], [("a", 0), ("b", 0), ("c", 4)], \
    [("a", 0), ("b", 4), ("c", 0)], [("c", 0), ("b", 0), ("a", 0)], \
    [("a", 0), ("b", 4), ("c", 4), ("b", 4)], [("b", 0), ("a", 4), ("b", 0)]
ENDS = "dead = NOT dead", "id = -id"  # it is over, or gone, and there again


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("relied", RELIED)
def test_a_decision_on_several_sessions_is_made_while_all_live(server, link, schema, relied):
    ids = {name: lives(server, schema) for name in "abc"}
    put(server, schema, "job", 7, *ids.values())
    decision = [("job", 7, 8, [(ids[name], mode) for name, mode in relied])]
    for name in {name for name, _ in relied}:
        for end in ENDS:
            turn = f"UPDATE {schema}.session SET {end} WHERE abs(id) = {ids[name]}"
            ask(server, turn)
            rows = apply(link, schema, decision)
            ask(server, turn)
            assert [row[2] for row in rows if row[0] in (2, 3)] == [7], "it is as it was"
            assert ids[name] in {row[2] for row in rows if row[0] == 4 and row[1] in (1, 2)}
    assert [row[0] for row in apply(link, schema, decision) if row[0] in (2, 3)] == [2]


def test_after_a_promotion_tokens_are_ahead_of_all_that_may_be_lost(cli, server, schema):
    token = int(cli.run("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN").out)
    ask(server, f"UPDATE {schema}.meta SET timeline = '00000000'")  # as it was before one
    later = int(cli.run("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN").out)
    assert later > token + 2 ** 32
    assert int(cli.run("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN").out) < later + 1000


# ---- doctor --------------------------------------------------------------------------------------


def test_doctor_names_what_is_unsafe(cli, server):
    done = cli.run("doctor")
    assert re.search(r"warn +fsync is off", done.out)
    assert re.search(r"ok +synchronous_commit is on", done.out)
    assert re.search(r"ok +PostgreSQL 1\d", done.out)
    server.sql("ALTER DATABASE tenure SET synchronous_commit = off")
    try:
        assert re.search(r"warn +synchronous_commit is off", cli.run("doctor").out)
    finally:
        server.sql("ALTER DATABASE tenure RESET ALL")


def test_doctor_names_missing_rights_and_a_pooler(cli, server, schema):
    ask(server, f"GRANT USAGE ON SCHEMA {schema} TO app; "
                f"GRANT EXECUTE ON FUNCTION {schema}.hello TO app")
    cli.env["TENURE_STORE"] = cli.store.replace("postgres@", "app@")
    assert re.search(r"warn +app may not execute 9 of", cli.run("doctor").out)
    if not postgres_server.available(pooler=True):
        return
    pooler = postgres_server.Pooler(server, "tenure")
    try:
        cli.env["TENURE_STORE"] = server.url("tenure", f"&schema={schema}", port=pooler.port)
        assert "a pooler stands in between" in cli.run("doctor").out
    finally:
        pooler.stop()


def test_an_unreachable_server_is_82(cli, server):
    cli.env["TENURE_STORE"] = server.url("tenure", "", port=1)
    done = cli.run("lock", "-n", "job", "--", "true")
    assert done.code == UNREACHABLE and done.out == ""
