"""The command on an etcd whose connections are troubled as HTTP/2 allows it: the server, or a proxy
in front of it, says goodbye in the middle of requests, resets one of them, or takes few bytes at
once.

Each request of a command is troubled once, whichever it is.  P2, P6: none of it is taken for an
answer, and none costs a grant, makes two of one, or leaves anything behind."""
import signal
import time

import pytest

import etcd
from conftest import UNREACHABLE, wait_until
from http2 import (GOAWAY, LAST_STREAM, NO_ERROR, NONSENSE, TROUBLES, Http2Relay, frame,
                   number)

pytestmark = pytest.mark.skipif(not etcd.available(), reason="etcd is not installed")
REQUESTS_MAX = 40  # of one short command: fewer than this


@pytest.fixture(scope="module")
def cluster():
    with etcd.running_cluster(1, ["--unsafe-no-fsync"]) as made:
        yield made


@pytest.fixture
def relay(cluster):
    made = Http2Relay((cluster.address, cluster.members[0].client))
    yield made
    made.close()


@pytest.fixture
def prefix(request):
    return "".join(c if c.isalnum() else "-" for c in request.node.name)


@pytest.fixture
def cli(command, cluster, relay, prefix):
    """By way of the relay."""
    return command(f"etcd://127.0.0.1:{relay.port}/{prefix}")


def befalls(relay, which, what):
    """The request with this number from now on meets `what`."""
    at = relay.requests + which
    relay.trouble = lambda n: what if n == at else None


@pytest.mark.parametrize("what", TROUBLES)
def test_whichever_request_is_troubled_there_is_one_grant_and_nothing_is_left(cli, cluster, relay,
                                                                             prefix, what):
    done, before = 0, cli.lock_once()
    for which in range(1, REQUESTS_MAX):
        befalls(relay, which, what)
        begun = relay.requests
        token = cli.lock_once()
        assert token > before
        before, done = token, done + 1
        if relay.requests - begun < which:
            break
    assert which > 8  # connecting alone takes four
    tenures = cli.history("job")
    causes = [t["cause"] for t in tenures]  # the reset of a release: else it ends with the session
    assert causes.count("died") <= (what == "reset") and set(causes) <= {"released", "died"}
    assert cli.status("job")["job"]["grants"] == done + 1


def test_who_holds_and_who_waits_outlive_goodbyes(cli, relay):
    """P8: the next one is told all the same, long before the safety net of a TTL."""
    holder, token = cli.hold("job", "--ttl", "240s")
    waiter = cli.start("lock", "--ttl", "240s", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    cli.wait_for_waiters("job", 1)
    for _ in range(3):
        before = relay.accepted
        relay.say_to_clients(frame(GOAWAY, 0, number(LAST_STREAM) + number(NO_ERROR)))
        wait_until(lambda: relay.accepted >= before + 2, "new connections of both")
    holder.send(signal.SIGTERM)
    assert holder.wait() == 0
    assert waiter.wait() == 0 and int(waiter.out.text()) > token


def test_a_server_that_breaks_the_rules_is_left_at_once(cli, relay):
    """With this TTL the next request, which would notice, is 80 s away."""
    holder, token = cli.hold("job", "--ttl", "240s")
    before = relay.accepted
    relay.say_to_clients(NONSENSE)
    wait_until(lambda: relay.accepted > before, "a new connection", limit=10)
    assert cli.holders("job")[0]["token"] == token
    holder.send(signal.SIGTERM)
    assert holder.wait() == 0


def test_a_server_that_only_says_goodbye_is_not_asked_without_a_pause(cli, relay):
    cli.lock_once()
    relay.trouble = lambda n: "goodbye"
    before = relay.accepted
    done = cli.run("lock", "-w", "2", "job", "--", "true")
    assert done.code == UNREACHABLE and "goodbye" in done.err, done.err
    assert 2 < relay.accepted - before < 100


def test_a_server_that_greets_and_says_goodbye_is_not_asked_without_a_pause(cli, relay):
    cli.lock_once()
    first = {}  # the number of each connection's first request

    def trouble(n):
        return "unseen goodbye" if n - first.setdefault(relay.accepted, n) >= 4 else None

    relay.trouble = trouble
    before, began = relay.accepted, time.monotonic()
    done = cli.run("lock", "-w", "2", "job", "--", "true")
    assert done.code == UNREACHABLE and "goodbye" in done.err, done.err
    assert 2 < relay.accepted - before < (time.monotonic() - began) / 0.02 + 2


def test_each_ping_is_answered_in_its_turn(cli, relay):
    """P8: who is not answered takes the connection for dead.  With this TTL nothing else is sent
    for 80 s that an answer could go with."""
    holder, _ = cli.hold("job", "--ttl", "240s")
    for n in range(5):
        relay.ping_clients(n)
    wait_until(lambda: relay.pongs == list(range(5)), "an answer to each ping", limit=10)
    holder.send(signal.SIGTERM)
    assert holder.wait() == 0


def test_who_pings_after_each_answer_is_answered_ten_times_a_second(cli, relay):
    """As gRPC in Go does with each request that it reads."""
    holder, _ = cli.hold("job", "--ttl", "240s")
    began = time.monotonic()
    for n in range(20):
        relay.ping_clients(n)
        wait_until(lambda: len(relay.pongs) > n, "an answer", limit=10)
    assert time.monotonic() - began > 1.5
    holder.send(signal.SIGTERM)
    assert holder.wait() == 0


@pytest.mark.parametrize("room, names", [(1, 1), (100, 40)])
def test_little_room_on_the_way_only_takes_time(command, cluster, prefix, room, names):
    """Requests and answers come in pieces of so many bytes, each after the one before it has
    arrived; with 40 names an answer is some thousand bytes long."""
    direct = command(cluster.url(prefix))
    for i in range(names):
        assert direct.run("lease", "take", "--ttl", "1h", "--as", "x" * 60, f"job{i}").code == 0
    relay = Http2Relay((cluster.address, cluster.members[0].client), room=room)
    narrow = command(f"etcd://127.0.0.1:{relay.port}/{prefix}")
    try:
        assert len(narrow.status()) == names
        token = narrow.lock_once("job")
        assert direct.lock_once("job") > token
    finally:
        relay.close()
