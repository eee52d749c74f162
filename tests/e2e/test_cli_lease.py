"""tenure lease: ownership by a token, beyond the life of any process."""
import os
import subprocess
import time

import pytest

from conftest import BINARY, INTERNAL, LOST, REFUSED, wait_until


def take(cli, *options, name="db1"):
    done = cli.run("lease", "take", "--ttl", "1h", *options, name)
    assert done.code == 0, done.err
    return int(done.out)


def test_a_taken_lease_is_owned_beyond_its_process_and_refused_to_others(cli):
    token = take(cli, "--as", "ops/anna")
    holder = cli.holders("db1")[0]
    assert (holder["token"], holder["as"]) == (token, "ops/anna")
    assert cli.status()["db1"]["kind"] == "lease"
    assert 3590_000 < holder["left_ms"] <= 3600_000
    for owner in "ops/anna", "ops/bob":
        done = cli.run("lease", "take", "--ttl", "1h", "--as", owner, "db1")
        assert (done.code, done.out) == (REFUSED, "") and "ops/anna" in done.err


def test_json_prints_the_token_as_number_and_string(cli):
    o = cli.run("lease", "take", "--ttl", "1h", "--as", "me", "--json", "db1").objects[0]
    assert o["token_text"] == str(o["token"]) and o["as"] == "me" and o["ttl_ms"] == 3600000


def test_who_shows_the_token_renews_and_drops(cli):
    token = take(cli)
    done = cli.run("lease", "renew", "--token", token, "--ttl", "2h", "db1")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert cli.holders("db1")[0]["left_ms"] > 3600_000
    assert cli.run("lease", "drop", "--token", token, "db1").code == 0
    assert cli.holders("db1") == []
    assert take(cli) > token


@pytest.mark.parametrize("verb", ["renew", "drop"])
def test_a_wrong_token_is_lost_and_touches_nothing(cli, verb):
    token = take(cli)
    ttl = ["--ttl", "1h"] if verb == "renew" else []
    for wrong in token + 1, token - 1 or token + 2, 2 ** 64 - 1:
        done = cli.run("lease", verb, "--token", wrong, *ttl, "db1")
        assert done.code == LOST and str(wrong) in done.err
    assert cli.run("lease", verb, "--token", token, *ttl, "unknown").code == LOST
    assert cli.holders("db1")[0]["token"] == token


def test_an_expired_lease_never_revives(cli):
    done = cli.run("lease", "take", "--ttl", "500ms", "db1")
    token = int(done.out)
    wait_until(lambda: not [h for h in cli.holders("db1") if h["state"] != "dead"], "expiry")
    started = time.monotonic()
    assert cli.run("lease", "renew", "--token", token, "--ttl", "1h", "db1").code == LOST
    assert cli.run("lease", "drop", "--token", token, "db1").code == LOST
    second = take(cli)
    assert second > token
    assert cli.run("lease", "renew", "--token", token, "--ttl", "1h", "db1").code == LOST
    assert cli.holders("db1")[0]["token"] == second
    assert time.monotonic() - started < 10, "answered at once, without retries"


def test_take_waits_when_it_is_told_to(cli):
    token = take(cli)
    waiter = cli.start("lease", "take", "--ttl", "1h", "-w", "60", "db1")
    done = cli.run("lease", "take", "--ttl", "1h", "-w", "200ms", "db1")
    assert done.code == REFUSED
    assert cli.run("lease", "drop", "--token", token, "db1").code == 0
    assert waiter.wait() == 0 and int(waiter.out.text()) > token


def test_a_lease_is_evicted_at_once(cli):
    token = take(cli)
    assert cli.run("evict", "db1", "--token", token, "--reason", "gone home").code == 0
    assert cli.holders("db1") == []
    assert cli.history("db1")[0]["cause"] == "evicted"


def test_a_name_is_one_kind_of_thing(cli):
    take(cli)
    done = cli.run("lock", "-n", "db1", "--", "true")
    assert done.code == REFUSED and "lease" in done.err


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("broken", ["full", "pipe"])
def test_a_lease_whose_token_could_not_be_printed_is_not_kept(cli, broken, options):
    reader, writer = os.pipe()
    os.close(reader)
    out = os.open("/dev/full", os.O_WRONLY) if broken == "full" else writer
    done = subprocess.run([str(BINARY), "lease", "take", "a", "--ttl", "1h", *options], env=cli.env,
                          stdout=out, stderr=subprocess.PIPE, text=True)
    assert done.returncode == INTERNAL and done.stderr.count("standard output") == 1
    assert cli.run("lease", "take", "a", "--ttl", "1h").code == 0
    assert [past["cause"] for past in cli.history("a")] == [None, "released"]
