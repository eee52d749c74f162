"""Scenarios 13 and 14, and 4 on a network: connections that are closed, stay open, or say nothing.

Elsewhere a pool recycles the connection that owns the lock, to the second; a server keeps the
session of a vanished peer, and its lock, for hours; one stalled call uses up the whole lease.

A relay between one program and the server does what networks do.  P3, P7, P9.
"""
import contextlib
import signal

import pytest

from conftest import BINARY, Cli, Running, pause, wait_until
from etcd import running_cluster
from field import NOTICE_S, SLACK_S, as_root, full, now, resource  # noqa: F401
from postgres import running_server
from relay import Relay

TTL_S = 2.0
TTL = ["--ttl", f"{TTL_S * 1000:.0f}ms"]


@contextlib.contextmanager
def postgres(directory):
    """(the URL for everybody, a relay, the URL through it)"""
    with running_server() as server:
        relay = Relay(f"{server.directory}/.s.PGSQL.{server.port}")
        url = server.url("postgres")
        assert Cli(directory, url).run("store", "init").code == 0
        yield url, relay, f"postgres://postgres@127.0.0.1:{relay.port}/postgres"
        relay.close()


@contextlib.contextmanager
def etcd(_):
    with running_cluster() as cluster:
        relay = Relay((cluster.address, cluster.members[0].client))
        yield cluster.url("test"), relay, f"etcd://127.0.0.1:{relay.port}/test"
        relay.close()


@pytest.fixture(params=[postgres, etcd], ids=["postgres", "etcd"])
def field(request, tmp_path):
    """(programs that reach the store directly, the relay, programs behind it)"""
    with request.param(tmp_path) as (url, relay, through):
        direct, behind = Cli(tmp_path, url), Cli(tmp_path, through)
        yield direct, relay, behind
        behind.end()
        direct.end()


def contend(field, resource):
    direct, relay, behind = field
    h = behind.start("lead", *TTL, "--as", "H", "job", "--", *resource.worker("H"))
    first = resource.wait_for("H")
    direct.start("lead", *TTL, "--as", "C", "job", "--", *resource.worker("C"))
    direct.wait_for_waiters("job", 1)
    return h, relay, first


def test_connections_that_are_closed_several_times_a_lease_change_no_holder(field, resource):
    h, relay, first = contend(field, resource)
    before = relay.accepted
    for _ in range(full(12, 240)):
        relay.cut()
        pause(TTL_S / 4)
    assert relay.accepted > before and h.running
    assert resource.tokens() == [first.token]


def test_a_connection_that_says_nothing_costs_no_more_than_an_attempt(field, resource):
    h, relay, first = contend(field, resource)
    for _ in range(full(2, 20)):
        before = relay.accepted
        relay.swallow()  # the renewal that comes is never answered; the next one is, elsewhere
        wait_until(lambda: relay.accepted > before, "a fresh connection")
        end = now() + TTL_S
        while now() < end:
            resource.wait_for("H", after=len(resource.marks) + 10)
    assert h.running and resource.tokens() == [first.token]


def test_a_holder_that_vanishes_while_its_connection_stays_is_followed_in_time(field, resource):
    """Nothing tells the server: no end of file, no reset.  Its keepalive would take hours."""
    h, relay, first = contend(field, resource)
    resource.wait_for("H", after=len(resource.marks) + 10)
    relay.swallow()
    relay.target = "/nowhere"  # its network is gone
    began = now()
    h.send(9)
    taken = resource.wait_for("C", limit=TTL_S + NOTICE_S + 10)
    assert taken.token > first.token
    assert TTL_S * 2 / 3 - 0.3 < taken.at - began < TTL_S + NOTICE_S + 2 * SLACK_S
    assert resource.overlaps() == []


@as_root
def test_a_name_that_leads_elsewhere_is_followed(field, tmp_path):
    """P3: who resolved the store's name once and for ever loses all that it holds."""
    direct, relay, behind = field
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 store.test\n")
    named = behind.store.replace("127.0.0.1", "store.test")
    holder = Running(["unshare", "--mount", "sh", "-c",
                      f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh", str(BINARY), "lock",
                      "--store", named, *TTL, "job"], env=behind.env)
    try:
        token = int(holder.out.wait_for(str.isdigit))
        elsewhere = Relay(relay.target, "127.0.0.2", relay.port)
        hosts.write_text("127.0.0.2 store.test\n")
        relay.close()
        wait_until(lambda: elsewhere.accepted, "a connection to the new address")
        pause(2 * TTL_S)
        assert holder.running and direct.holders("job")[0]["token"] == token
        holder.send(signal.SIGTERM)
        assert holder.wait() == 0
        elsewhere.close()
    finally:
        holder.end()
