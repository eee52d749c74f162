"""A holder's host is cut off from the store: as a whole, and in each direction alone.

Elsewhere a half-open connection keeps a lock for hours, or the one that was cut off works on while
its successor has started.  Each program and the store are hosts of their own here, and a router
between them loses packets; nobody is told.

P3: the holder stops before its successor starts.  P4: it stays lost when the cable is mended.
P7: the next one holds within the printed bound.
"""
import contextlib

import pytest

import etcd
from conftest import Cli
from field import NOTICE_S, SLACK_S, as_root, now, resource  # noqa: F401
from hosts import CUTS, Hosts
from postgres import running_server

pytestmark = as_root
TTL_S = 2.0
TTL = ["--ttl", f"{TTL_S * 1000:.0f}ms"]


@contextlib.contextmanager
def postgres(hosts, directory):
    """The URL of a store on the host "store"."""
    address = hosts.address("store")
    with running_server(host=hosts.command("store"), address=address) as server:
        url = f"postgres://postgres@{address}:{server.port}/postgres"
        assert Cli(directory, url, hosts.command("waiter")).run("store", "init").code == 0
        yield url


@contextlib.contextmanager
def etcd_of_three(hosts, directory):
    with etcd.running_cluster(3, host=hosts.command("store"),
                              address=hosts.address("store")) as cluster:
        yield cluster.url("test")


STORES = {"postgres": postgres, "etcd": etcd_of_three}


@pytest.fixture(scope="module")
def hosts():
    made = Hosts("store", "holder", "waiter")
    yield made
    made.close()


@pytest.fixture(scope="module", params=list(STORES))
def place(request, hosts, tmp_path_factory):
    with STORES[request.param](hosts, tmp_path_factory.mktemp("store")) as url:
        yield url


@pytest.fixture
def programs(hosts, place, tmp_path):
    made = {name: Cli(tmp_path, place, hosts.command(name)) for name in ("holder", "waiter")}
    yield made
    for program in made.values():
        program.end()


@pytest.mark.parametrize("how", list(CUTS))
def test_who_is_cut_off_stops_before_the_next_one_starts(hosts, programs, resource, how):
    name = f"cut {how}".replace(" ", "-")
    holder, waiter = programs["holder"], programs["waiter"]
    h = holder.start("lead", *TTL, "--as", "H", name, "--", *resource.worker("H"))
    first = resource.wait_for("H")
    waiter.start("lead", *TTL, "--as", "C", name, "--", *resource.worker("C"))
    waiter.wait_for_waiters(name, 1)
    began = now()
    hosts.cut("holder", how)
    try:
        taken = resource.wait_for("C")
    finally:
        hosts.mend("holder", how)
    ended = resource.of("H", "end")
    assert [m.number < taken.number for m in ended] == [True]
    assert taken.token > first.token
    late = TTL_S / 3 if how == "to it" else 0  # one more renewal may have reached the store
    assert taken.at - began < late + TTL_S + NOTICE_S + SLACK_S
    waiter.wait_for_waiters(name, 1)  # it is back, and stands in line again
    assert h.running and resource.overlaps() == []
