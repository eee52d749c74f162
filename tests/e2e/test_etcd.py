"""The command on an etcd, and what befalls that etcd.

Each test starts a cluster of its own on loopback.  Times are bounds with the slack of a machine
that has other things to do; what a bound is made of is in docs/stores.md.
"""
import os
import shutil
import signal
import subprocess
import time

import pytest

import etcd
from authority import Authority
from conftest import DENIED, LIMIT_S, LOST, REFUSED, UNREACHABLE, Cli, pause, wait_until
from relay import Relay

pytestmark = pytest.mark.skipif(not etcd.available(), reason="etcd is not installed")
SLACK_S = 3  # of a busy machine


@pytest.fixture
def start(tmp_path):
    """Starts a cluster: start(members=1, settings=()) -> (cluster, cli)."""
    began = []

    def begin(members=1, settings=()):
        directory = tmp_path / f"etcd{len(began)}"
        directory.mkdir()
        cluster = etcd.Cluster(directory, members, settings)
        began.append(cluster)
        cluster.start()
        program = Cli(tmp_path, cluster.url("test"))
        began.append(program)
        return cluster, program

    yield begin
    for one in reversed(began):
        one.end() if isinstance(one, Cli) else one.stop()


def compact(cluster):
    """Forgets all but the latest state."""
    status = cluster.etcdctl("endpoint", "status", "-w", "fields")
    cluster.etcdctl("compact", next(line.split(":")[1].strip() for line in status.splitlines()
                                    if '"Revision"' in line))


def end_of(process):
    process.send(signal.SIGTERM)
    return process.wait()


def assert_still_holds(cli, process, token, after_s):
    """After a time that is longer than its ttl: then it must have renewed."""
    pause(after_s)
    assert process.running and cli.holders("job")[0]["token"] == token


def test_the_command_works_and_its_store_needs_no_making(start):
    _, cli = start()
    assert cli.status() == {}
    first = cli.lock_once()
    process, token = cli.hold("job")
    assert token > first
    refused = cli.run("lock", "-n", "job", "--", "true")
    assert refused.code == REFUSED and str(token) in refused.err
    waiter = cli.start("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    cli.wait_for_waiters("job", 1)
    assert end_of(process) == 0
    assert int(waiter.out.wait_for(str.isdigit)) > token
    assert waiter.wait() == 0
    assert [p["cause"] for p in cli.history("job")] == ["released"] * 3


def test_a_lease_outlives_the_command_and_ends_although_nobody_watches(start):
    _, cli = start()
    token = int(cli.run("lease", "take", "--ttl", "3s", "backup").out)
    assert cli.run("lease", "take", "--ttl", "3s", "backup").code == REFUSED
    assert cli.run("lease", "renew", "--ttl", "3s", "--token", token, "backup").code == 0
    taken = wait_until(lambda: cli.run("lease", "take", "--ttl", "3s", "backup").out.strip(),
                       "the end of a lease", limit=3 + 3 + SLACK_S)
    assert int(taken) > token


def test_what_is_left_is_told_by_the_ttl_of_the_holder_and_not_of_who_looks(start):
    _, cli = start()
    for name, ttl_s in ("long", 40), ("short", 4):
        cli.hold(name, "--ttl", f"{ttl_s}s")
        (holder,) = cli.holders(name)
        assert (holder["ttl_ms"], holder["left_ms"]) == (ttl_s * 1000, ttl_s * 1000)


def test_a_holder_outlives_the_death_of_the_leader(start):
    cluster, cli = start(3)
    process, token = cli.hold("job", "--ttl", "6s")
    cluster.leader().stop()
    wait_until(lambda: cli.run("status").code == 0, "the next leader")
    waiter = cli.start("lock", "job", "--", "true")
    cli.wait_for_waiters("job", 1)  # the store answers again
    assert_still_holds(cli, process, token, 8)
    assert end_of(process) == 0 and waiter.wait() == 0


def connected(cluster, process):
    """The members that a command is connected to."""
    found = subprocess.run(["ss", "-Htnp"], stdout=subprocess.PIPE, text=True, check=True).stdout
    peers = [line.split()[4] for line in found.splitlines() if f"pid={process.pid}," in line]
    return [m for m in cluster.members if any(peer.endswith(f":{m.client}") for peer in peers)]


def name_first(cli, cluster, member, host="127.0.0.1"):
    """The command finds its store behind that member first; all are known as `host`."""
    members = sorted(cluster.members, key=lambda m: m is not member)
    endpoints = ",".join(f"{host}:{m.client}" for m in members)
    cli.env["TENURE_STORE"] = f"etcd://{endpoints}/test"


def test_the_leader_is_asked_whichever_member_is_named_first(start):
    cluster, cli = start(3)
    other = next(m for m in cluster.members if m is not cluster.leader())
    name_first(cli, cluster, other)
    process, token = cli.hold("job", "--ttl", "6s")
    assert connected(cluster, process) == [cluster.leader()]
    gone = cluster.leader()
    gone.stop()
    wait_until(lambda: connected(cluster, process), "a connection to another member")
    assert_still_holds(cli, process, token, 8)
    assert end_of(process) == 0


def test_a_leader_that_is_known_by_another_name_is_asked_by_others(start):
    cluster, cli = start(3)
    other = next(m for m in cluster.members if m is not cluster.leader())
    name_first(cli, cluster, other, "localhost")
    process, _ = cli.hold("job")
    assert connected(cluster, process) == [other]
    assert end_of(process) == 0


class Sick(Relay):
    """Ends a connection when the first question about a name comes, once it has fallen `ill`."""

    def __init__(self, target):
        self.ill = False
        super().__init__(target)

    def _carry(self, one, data):
        if self.ill and b"name/" in data:
            self._drop(one)
        else:
            super()._carry(one, data)


def test_a_leader_that_is_of_no_use_to_us_is_not_asked_again_at_once(command):
    """Others hear it, so every member goes on saying that it leads."""
    relays = []

    def hide(cluster):
        first = cluster.members[0]
        relays.append(Sick((cluster.address, first.client)))
        first.advertised = relays[0].port

    with etcd.running_cluster(3, before=hide) as cluster:
        leader, *others = cluster.members
        cluster.let_lead(leader)
        ports = others[0].client, leader.advertised, others[1].client
        cli = command(f"etcd://{','.join(f'127.0.0.1:{port}' for port in ports)}/test")
        token = cli.lock_once()
        assert relays[0].accepted == 1
        relays[0].ill = True
        process, held = cli.hold("job", "--ttl", "6s")
        assert held > token and relays[0].accepted == 2
        assert connected(cluster, process) == [others[1]]
        assert end_of(process) == 0
        relays[0].close()


def test_servers_that_only_greet_are_not_asked_without_a_pause(start, command):
    cluster, _ = start()
    relays = [Sick((cluster.address, cluster.members[0].client)) for _ in range(2)]
    cli = command(f"etcd://{','.join(f'127.0.0.1:{r.port}' for r in relays)}/test")
    cli.lock_once()
    for relay in relays:
        relay.ill = True
    before, began = sum(r.accepted for r in relays), time.monotonic()
    assert cli.run("lock", "--ttl", "12s", "job", "--", "true").code == UNREACHABLE
    rounds = (time.monotonic() - began) / 0.02  # the shortest pause
    assert 4 < sum(r.accepted for r in relays) - before < len(relays) * (rounds + 1)
    for relay in relays:
        relay.close()


@pytest.mark.parametrize("who", ["leader", "another"])
def test_a_member_that_is_silent_is_left_for_another(start, who):
    cluster, cli = start(3)
    silent = next(m for m in cluster.members if (m is cluster.leader()) == (who == "leader"))
    if who == "another":  # which is asked when the leader is not known
        name_first(cli, cluster, silent, "localhost")
    process, token = cli.hold("job", "--ttl", "6s")
    silent.process.send_signal(signal.SIGSTOP)
    pause(8)
    assert process.running and end_of(process) == 0
    silent.process.send_signal(signal.SIGCONT)
    assert cli.lock_once() > token


def test_a_first_request_that_meets_a_member_that_hangs_goes_to_another(start, tmp_path):
    cluster, cli = start(3)
    cli.lock_once()
    leader = cluster.leader()
    first, *others = sorted(cluster.members, key=lambda m: m is leader)
    members = ",".join(m.endpoint() for m in [first, *others])
    first.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    done = cli.run("lock", "--ttl", "60s", "--store", f"etcd://{members}/test", "job", "--", "true")
    took = time.monotonic() - began
    first.process.send_signal(signal.SIGCONT)
    assert done.code == 0, done.err
    assert took < 60 / 6  # it did not cost the whole attempt


def test_a_holder_that_cannot_reach_the_store_is_lost_before_anybody_else_holds(start):
    cluster, cli = start()
    process, token = cli.hold("job", "--ttl", "3s")
    began = time.monotonic()
    cluster.members[0].process.send_signal(signal.SIGSTOP)
    assert process.wait() == LOST
    assert time.monotonic() - began < 3 + SLACK_S
    away = cli.run("lock", "--ttl", "1s", "-w", "2", "job", "--", "true")
    assert away.code in (UNREACHABLE, REFUSED), away.err
    cluster.members[0].process.send_signal(signal.SIGCONT)
    assert cli.lock_once() > token


def test_a_restart_of_the_store_costs_nobody_its_lock(start):
    cluster, cli = start()
    process, token = cli.hold("job", "--ttl", "10s")
    cluster.members[0].stop()
    cluster.start()
    assert_still_holds(cli, process, token, 10)
    assert end_of(process) == 0


def test_the_death_of_a_holder_s_host_is_noticed_within_the_bound(start):
    _, cli = start()
    process, token = cli.hold("job", "--ttl", "2s")
    waiter = cli.start("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    cli.wait_for_waiters("job", 1)
    began = time.monotonic()
    process.send(signal.SIGSTOP)  # as good as a host that is gone: it says nothing any more
    assert int(waiter.out.wait_for(str.isdigit)) > token
    assert time.monotonic() - began < 2 + 1 + SLACK_S
    assert waiter.wait() == 0
    process.send(signal.SIGCONT)
    assert process.wait() == LOST
    assert cli.history("job")[-1]["cause"] == "expired" or \
        "expired" in [p["cause"] for p in cli.history("job")]


def leases(cluster):
    return set(cluster.etcdctl("lease", "list").splitlines()[1:])


@pytest.mark.parametrize("members", [1, 3])
def test_a_killed_command_or_supervisor_is_followed_long_before_its_ttl(start, members):
    """The guardian ends the session: etcd itself would wait for the whole TTL (P7)."""
    cluster, cli = start(members)
    cli.lock_once()  # what outlives sessions is there
    before = leases(cluster)
    for victim in "supervisor", "command":
        holder = cli.start("lock", "--ttl", "60s", "job", "--", "sh", "-c",
                           "echo $$; exec sleep 1000")
        command = int(holder.out.wait_for(str.isdigit))
        waiter = cli.start("lock", "job", "--", "true")
        cli.wait_for_waiters("job", 1)
        os.kill(holder.pid if victim == "supervisor" else command, signal.SIGKILL)
        assert waiter.wait(20) == 0, victim
        holder.wait()
    assert [p["cause"] for p in cli.history("job")] == ["released"] * 3 + ["died", "released"]
    wait_until(lambda: leases(cluster) <= before, "the end of their leases")


def restore(cluster, snapshot, token=None):
    """Puts the first member back to what it was when the snapshot was taken."""
    member = cluster.members[0]
    member.stop()
    shutil.rmtree(member.directory)
    cluster.etcdctl("snapshot", "restore", str(snapshot), "--name", member.name,
                    "--initial-cluster", f"{member.name}=http://127.0.0.1:{member.peer}",
                    "--initial-advertise-peer-urls", f"http://127.0.0.1:{member.peer}",
                    *(["--initial-cluster-token", token] if token else []),
                    "--data-dir", str(member.directory))
    cluster.start()


@pytest.mark.parametrize("token", [None, "another"])
def test_a_store_that_went_back_is_refused_until_its_tokens_are_raised(start, tmp_path, token):
    cluster, cli = start()
    for _ in range(5):
        cli.lock_once()
    snapshot = tmp_path / "snapshot"
    cluster.etcdctl("snapshot", "save", str(snapshot))
    highest = max(cli.lock_once() for _ in range(3))
    holder, _ = cli.hold("other", "--ttl", "4s")
    restore(cluster, snapshot, token)
    refused = cli.run("lock", "job", "--", "true")
    assert refused.code == DENIED and "went back" in refused.err
    assert holder.wait() == LOST
    raised = wait_until(lambda: (r := cli.run("store", "check", "--raise-to", str(highest)))
                        .code in (0, 1) and r, "raising", limit=LIMIT_S)
    assert raised.code in (0, 1), raised.err
    assert cli.lock_once() > highest


def test_who_deletes_all_keys_ends_tenures_but_tokens_go_on(start):
    cluster, cli = start()
    process, token = cli.hold("job", "--ttl", "3s")
    cluster.etcdctl("del", "--prefix", "test/")
    assert process.wait() == LOST
    assert cli.lock_once() > token


def test_who_deletes_one_record_ends_its_tenure_at_once(start):
    """A watch tells: with this ttl the next renewal is 20 s away (P3)."""
    cluster, cli = start()
    kept, _ = cli.hold("kept", "--ttl", "60s")
    process, token = cli.hold("job", "--ttl", "60s")
    cluster.etcdctl("del", "test/name/job")
    assert process.wait(10) == LOST
    assert kept.running and cli.lock_once() > token
    assert end_of(kept) == 0


def test_whose_lease_is_revoked_is_told_at_once(start):
    """With this ttl the next renewal is 20 s away, and others are let in at once (P3)."""
    cluster, cli = start()
    cli.lock_once()
    before = leases(cluster)
    process, token = cli.hold("job", "--ttl", "60s")
    lease, = leases(cluster) - before
    cluster.etcdctl("lease", "revoke", lease)
    assert process.wait(10) == LOST
    assert cli.lock_once() > token


def test_a_record_that_somebody_else_wrote_is_told_and_left_alone(start):
    cluster, cli = start()
    cli.lock_once()
    cluster.etcdctl("put", "test/name/job", "hello")
    done = cli.run("lock", "-n", "job", "--", "true")
    assert done.code == DENIED and "test/name/job" in done.err
    assert "hello" in cluster.etcdctl("get", "test/name/job")


def test_a_full_store_refuses_and_says_so(start):
    cluster, cli = start(1, ["--quota-backend-bytes", str(16 << 20)])
    token = cli.lock_once()
    filler = "x" * 1000000
    for i in range(40):
        try:
            cluster.etcdctl("put", f"fill/{i}", input=filler)
        except RuntimeError:
            break
    done = cli.run("lock", "-n", "job", "--", "true")
    assert done.code == DENIED and "space" in done.err, done.err
    cluster.etcdctl("del", "--prefix", "fill/")
    compact(cluster)
    cluster.etcdctl("defrag")
    cluster.etcdctl("alarm", "disarm")
    assert cli.lock_once() > token


def test_doctor_says_what_is_unsafe(start):
    _, cli = start()
    cli.run("store", "init")
    done = cli.run("doctor")
    assert done.code == 1, done.err
    assert "ok    etcd 3." in done.out
    assert "warn  1 endpoint" in done.out
    assert "not encrypted" in done.out


def test_nobody_there_is_said_at_once(tmp_path, start):
    cluster, cli = start()
    cluster.stop()
    done = cli.run("lock", "-n", "job", "--", "true")
    assert done.code == UNREACHABLE and "refused" in done.err


def test_what_was_missed_is_found_although_the_history_is_gone(start, command):
    """P7: who was cut off reconnects behind a compaction, and its watch cannot go on."""
    cluster, cli = start()
    host, port = cluster.endpoints().split(":")
    relay = Relay((host, int(port)))
    behind = command(f"etcd://127.0.0.1:{relay.port}/test")
    process, token = cli.hold("job", "--ttl", "60s")
    waiter = behind.start("lock", "--ttl", "30s", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    cli.wait_for_waiters("job", 1)
    relay.target = "/nowhere"
    relay.cut()
    for i in range(3):
        cluster.etcdctl("put", "elsewhere", str(i))
    assert end_of(process) == 0
    compact(cluster)
    relay.target = (host, int(port))
    assert waiter.wait(20) == 0 and int(waiter.out.text()) > token
    relay.close()


# ---- TLS and passwords ---------------------------------------------------------------------------

@pytest.fixture
def secure(tmp_path):
    """Starts an etcd that asks for certificates: secure() -> (cluster, authority)."""
    directory = tmp_path / "secure"
    directory.mkdir()
    authority = Authority(directory)
    authority.issue("server")
    authority.issue("client")
    options = ["--cert-file", authority.path("server.pem"), "--key-file",
               authority.path("server.key"), "--trusted-ca-file", authority.path("ca.pem"),
               "--client-cert-auth"]
    cluster = etcd.Cluster(directory, 1, options, tls=[
        "--cacert", authority.path("ca.pem"), "--cert", authority.path("client.pem"),
        "--key", authority.path("client.key")])
    cluster.start()
    yield cluster, authority
    cluster.stop()


def secured(cluster, authority):
    return cluster.url("test", f"?ca={authority.path('ca.pem')}&cert={authority.path('client.pem')}"
                               f"&key={authority.path('client.key')}")


def test_a_store_behind_tls_works_and_an_expired_certificate_is_told(secure, command):
    cluster, authority = secure
    cli = command(secured(cluster, authority))
    token = cli.lock_once()
    process, _ = cli.hold("other", "--ttl", "6s")
    authority.issue("client", days=-1)
    done = cli.run("lock", "-n", "job", "--", "true")
    assert done.code == DENIED and "TLS" in done.err, done.err
    assert process.running
    authority.issue("client")
    assert cli.lock_once() > token
    assert end_of(process) == 0


def test_a_server_that_nobody_vouches_for_is_refused(secure, command, tmp_path):
    cluster, authority = secure
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    stranger = Authority(elsewhere)
    url = secured(cluster, authority).replace(authority.path("ca.pem"), stranger.path("ca.pem"))
    done = command(url).run("lock", "-n", "job", "--", "true")
    assert done.code == DENIED and "TLS" in done.err and "trusted" in done.err, done.err
    named = command(secured(cluster, authority) + "&server-name=etcd.example")
    done = named.run("lock", "-n", "job", "--", "true")
    assert done.code == DENIED and "TLS" in done.err, done.err


def test_a_new_certificate_is_read_when_the_next_connection_is_made(secure, command):
    cluster, authority = secure
    cli = command(secured(cluster, authority))
    process, token = cli.hold("job", "--ttl", "10s")
    authority.issue("client")
    cluster.members[0].stop()
    cluster.start()
    assert_still_holds(cli, process, token, 10)
    assert end_of(process) == 0


def with_users(cluster):
    """Only the user app, with the password correct, may use the prefix test."""
    for line in (["user", "add", "root:secret"], ["role", "add", "app"],
                 ["role", "grant-permission", "app", "--prefix=true", "readwrite", "test/"],
                 ["user", "add", "app:correct"], ["user", "grant-role", "root", "root"],
                 ["user", "grant-role", "app", "app"], ["auth", "enable"]):
        cluster.etcdctl(*line)


def test_who_is_asked_for_a_password_gives_it_from_a_file(start, command, tmp_path):
    cluster, _ = start()
    password = tmp_path / "password"
    password.write_text("correct\n")
    with_users(cluster)
    options = f"?user=app&password-file={password}"
    cli = command(cluster.url("test", options))
    token = cli.lock_once()
    process, _ = cli.hold("other")
    stranger = command(cluster.url("test")).run("lock", "-n", "job", "--", "true")
    assert stranger.code == DENIED, stranger.err
    elsewhere = command(cluster.url("prod", options)).run("lock", "-n", "job", "--", "true")
    assert elsewhere.code == DENIED and "permission" in elsewhere.err, elsewhere.err
    password.write_text("wrong\n")
    wrong = cli.run("lock", "-n", "job", "--", "true")
    assert wrong.code == DENIED and "wrong" not in wrong.err, wrong.err
    password.write_text("correct\n")
    assert cli.lock_once() > token and end_of(process) == 0


def test_a_login_that_expires_is_made_anew(start, command, tmp_path):
    cluster, _ = start(settings=["--auth-token-ttl", "1"])
    password = tmp_path / "password"
    password.write_text("correct\n")
    with_users(cluster)
    cli = command(cluster.url("test", f"?user=app&password-file={password}"))
    process, token = cli.hold("job", "--ttl", "60s")
    waiter = cli.start("lock", "job", "--", "sh", "-c", "echo $TENURE_TOKEN")
    cli.wait_for_waiters("job", 1)
    pause(4)  # nobody uses either login meanwhile
    assert end_of(process) == 0
    assert waiter.wait() == 0 and int(waiter.out.text()) > token
