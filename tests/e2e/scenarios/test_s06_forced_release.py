"""Scenario 6: a forced release, and a change of holder at the same moment.

Elsewhere unlocking by name hits the wrong holder, or asks for an id that was never shown.

P1, P5: an eviction touches exactly the tenure that it names.  P12: the successor starts when the
evicted one has stopped.
"""
from conftest import LOST, wait_until
from field import engine, freeze, full, now, resource, store  # noqa: F401


def evict(cli, token):
    return cli.run("evict", "job", "--token", token, "--as", "operator", "--reason", "stuck")


def test_what_the_operator_read_is_gone_so_nobody_is_hit(cli, resource):
    for _ in range(full(3, 50)):
        h, token = cli.hold("job")
        assert cli.holders("job")[0]["token"] == token  # the id is shown
        c = cli.start("lock", "job")
        cli.wait_for_waiters("job", 1)
        h.send(15)
        assert h.wait() == 0
        taken = int(c.out.wait_for(lambda line: line.isdigit()))

        done = evict(cli, token)
        assert done.code == LOST and str(token) in done.err
        assert [(t["token"], t["state"]) for t in cli.holders("job")] == [(taken, "held")]
        assert c.running
        c.send(15)
        assert c.wait() == 0


def test_a_live_holder_is_told_and_stops_before_the_next_one_starts(cli, resource):
    h = cli.start("lock", "--ttl", "2s", "job", "--", *resource.worker("H", cleanup=200))
    token = resource.wait_for("H").token
    cli.start("lock", "--ttl", "2s", "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 1)

    assert evict(cli, token).code == 0
    started = resource.wait_for("C", "begin")
    assert h.wait() == LOST
    assert resource.of("H", "signal-15") and resource.of("H", "end")[0].number < started.number
    assert started.token > token
    assert resource.overlaps() == []
    assert "operator" in h.err.text() and "stuck" in h.err.text()


def test_a_live_holder_that_does_not_listen_is_out_before_the_next_one_starts(cli, resource):
    h = cli.start("lock", "--ttl", "1s", "job", "--", *resource.worker("H", deaf=1))
    token = resource.wait_for("H").token
    cli.start("lock", "--ttl", "1s", "job", "--", *resource.worker("C"))
    cli.wait_for_waiters("job", 1)
    assert evict(cli, token).code == 0
    assert resource.wait_for("C", "begin").token > token
    assert h.wait() == LOST
    assert resource.overlaps() == []


def test_a_dead_holder_is_out_at_once(cli, resource):
    h = cli.start("lock", "--ttl", "10s", "job", "--", *resource.worker("H"))
    token = resource.wait_for("H").token
    freeze(h.pid, *{m.pid for m in resource.marks})
    h.child.kill()
    wait_until(lambda: not h.running, "the end of H")
    wait_until(lambda: [t for t in cli.holders("job") if t["state"] == "dead"] or
               not cli.holders("job"), "the news of its death")
    began = now()
    evict(cli, token)  # it may have been found dead before: then there is nothing to end
    assert cli.run("lock", "-n", "job", "--", "true").code == 0
    assert now() - began < 1


def test_each_forced_release_leaves_who_when_and_which(cli):
    h, token = cli.hold("job", "--ttl", "1s")
    assert evict(cli, token).code == 0
    assert h.wait() == LOST
    line = cli.history("job")[0]
    assert (line["token"], line["cause"], line["by"], line["reason"]) == \
        (token, "evicted", "operator", "stuck")
    assert line["to"] is not None
