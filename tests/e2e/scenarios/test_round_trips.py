"""What things cost in round trips, as the servers count them: a store that is behind an ocean is
asked no more often than one that is near.

A guarded value: one for each put.  The epoch and the version are demanded by what writes, not
looked up before it; a put that looked first, or that took a transaction of several statements,
would be right, too, and slower.

A hand-over between two on one host: PostgreSQL, which would wake everybody who listens, is not
asked to wake the next one.  Where it is, that is one message, on its way when the lock has been
given back: a program may end then.

Many names in one event loop: one for all that it asks for between two waits.

One name that many ask for at once: a few for each, however many they are.
"""
import re
import signal

import pytest
from conftest import wait_until
from etcd import running_cluster
from field import library  # noqa: F401
from postgres import running_server
from test_at_rest import TXNS

TTL_S = 60  # no renewal comes between
PUTS = 20
CROWD = 24
HANDED = 12  # each rings more often than most statements take to get a name
WALK = 2    # of what the dead left behind (src/lib/sweep.c), which may come by once


def puts(library, url, count):
    """How often the store was asked for PUTS puts of one who holds what they demand; count() is
    what it was asked so far."""
    program = library()
    assert program.do("open", url, TTL_S * 1000, "h", "pump")[0] == 0
    program.number("acquire", "job", 5000)
    version = program.number("put", "key", "first", "job")
    before = count()
    for n in range(PUTS):
        after = program.number("put", "key", f"value-{n}", "job")
        assert after > version
        version = after
    return count() - before


def test_a_guarded_put_is_one_txn_of_etcd(library):
    with running_cluster() as cluster:
        asked = puts(library, cluster.url("test"), lambda: cluster.counter(TXNS))
        assert PUTS <= asked <= PUTS + WALK


def test_a_guarded_put_is_one_statement_of_postgresql(library, command):
    with running_server("log_statement=all") as server:
        server.sql("CREATE DATABASE tenure")
        url = server.url("tenure")
        assert command(url).run("store", "init").code == 0
        asked = puts(library, url, lambda: sum(
            server.log.read_text().count(word) for word in ("LOG:  execute", "LOG:  statement")))
        assert PUTS <= asked <= PUTS + WALK


def test_what_an_event_loop_asks_in_one_turn_is_one_txn_of_etcd(library):
    def asked(rounds):
        program = library()
        assert program.do("open", cluster.url("test"), TTL_S * 1000, "h")[0] == 0
        before = cluster.counter(TXNS)
        assert program.number("crew", f"job-{rounds}", names, names * rounds) >= names * rounds
        return cluster.counter(TXNS) - before

    names, few, many = 40, 10, 40
    with running_cluster() as cluster:
        # Each name is looked at once, at first.  In halves, by turns, it would be twice as many.
        assert asked(many) - asked(few) <= 1.3 * (many - few) + WALK


@pytest.mark.parametrize("doorbell,rung", [("on", 0), ("off", HANDED)])
def test_a_hand_over_on_one_host_wakes_nobody_else_in_postgresql(library, command, doorbell, rung):
    with running_server("log_statement=all") as server:
        server.sql("CREATE DATABASE tenure")
        url = server.url("tenure")
        assert command(url).run("store", "init").code == 0
        url += ("&" if "?" in url else "?") + f"listen=off&doorbell={doorbell}"

        def asked(function, name=".*"):
            return len(re.findall(rf"execute {name}: .* FROM tenure\.{function}\(",
                                  server.log.read_text()))

        def record():
            return server.sql("SELECT version FROM tenure.record WHERE key = 'job'", "tenure")

        holder, waiter = library(), library()
        for program in holder, waiter:
            assert program.do("open", url, TTL_S * 1000, "h", "pump")[0] == 0
        holder.number("acquire", "job", 5000)
        for _ in range(HANDED):
            before = record()
            waiter.say("acquire", "job", 20000)
            wait_until(lambda: record() != before, "one who queues")
            assert holder.do("release")[0] == 0
            assert waiter.hear()[0] == 0
            holder, waiter = waiter, holder
        wait_until(lambda: asked("ring") >= rung, "the last one")
        assert asked("ring") == rung and asked("ring", "<unnamed>") == rung


def test_a_bell_that_is_lost_in_postgresql_is_made_up_for_within_moments(library, command):
    """Who gave back was ended before it could ring, and its session lives on.  Whoever waits has
    heard other bells, so it believes in them, and looks all the same once a second."""
    with running_server() as server:
        server.sql("CREATE DATABASE tenure")
        url = server.url("tenure")
        assert command(url).run("store", "init").code == 0
        server.sql("""CREATE TABLE tenure.proof (session bigint);
            CREATE OR REPLACE FUNCTION tenure.ring(sessions bigint[], names bigint[]) RETURNS void
            LANGUAGE sql SECURITY DEFINER AS $$
                SELECT pg_notify('tenure_' || sessions[1], '0') WHERE names[1] = 0;
                INSERT INTO tenure.proof SELECT sessions[1] WHERE names[1] = 0 $$""", "tenure")
        url += ("&" if "?" in url else "?") + "doorbell=off"
        holder, waiter = library(), library()
        for program in holder, waiter:
            assert program.do("open", url, TTL_S * 1000, "h", "pump")[0] == 0
        holder.number("acquire", "job", 5000)
        waiter.say("acquire", "job", 20000)
        wait_until(lambda: server.sql("SELECT count(*) FROM tenure.proof", "tenure") == "2",
                   "both to hear themselves")
        assert holder.do("release")[0] == 0
        assert waiter.hear()[0] == 0


def test_the_first_acquire_looks_once_in_etcd(library):
    """It makes a session, which is two, looks and is granted.  What was rung before it listened is
    not looked for, since nobody knew of it."""
    def asked(name):
        program = library()
        assert program.do("open", cluster.url("test"), TTL_S * 1000, "h")[0] == 0
        before = cluster.counter(TXNS)
        program.number("acquire", name, 5000)
        assert program.do("process")[0] == 0
        assert program.do("release")[0] == 0
        return cluster.counter(TXNS) - before

    with running_cluster() as cluster:
        assert min(asked(f"job-{n}") for n in range(3)) == 2 + 2 + 1


def test_many_who_ask_for_one_name_at_once_do_not_ask_etcd_again_and_again(library, command):
    """All decide on the same record, and one of them succeeds.  If the others asked again at once,
    each would lose to every other one: about half the square of their number."""
    with running_cluster() as cluster:
        url, server = cluster.url("test"), cluster.members[0].process
        holder, *crowd = [library() for _ in range(1 + CROWD)]
        for n, program in enumerate([holder, *crowd]):
            assert program.do("open", url, TTL_S * 1000, "h")[0] == 0
            program.number("acquire", f"own-{n}", 5000)  # so that it has its session
        holder.number("acquire", "job", 5000)
        before = cluster.counter(TXNS)
        server.send_signal(signal.SIGSTOP)  # until all have asked
        for program in crowd:
            program.say("acquire", "job", 60000)
        server.send_signal(signal.SIGCONT)
        command(url).wait_for_waiters("job", CROWD)
        asked = cluster.counter(TXNS) - before
    # Each looks, loses to the first, and asks again; and some lose once or twice more.
    assert asked <= 7 * CROWD
