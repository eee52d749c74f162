"""What operators see and do: status, watch, history, evict, doctor, store."""
import json
import os
import resource
import signal
import subprocess
import tempfile

import pytest

from conftest import BINARY, DENIED, INTERNAL, LIMIT_S, LOST, UNREACHABLE, USAGE, wait_until


# ---- status and history -----------------------------------------------------------------------


def test_to_look_at_a_store_that_is_not_there_does_not_make_it(cli, tmp_path):
    """A mistyped URL is not an empty store."""
    typo = f"sqlite:{tmp_path}/typo.db"
    for command in (["status"], ["history", "x"], ["evict", "x", "--token", "1", "--reason", "r"],
                    ["lease", "renew", "x", "--token", "1", "--ttl", "1m"], ["resign", "x"],
                    ["store", "check"]):
        done = cli.run(*command, "--store", typo)
        assert done.code == UNREACHABLE and "no such store" in done.err, command
    assert not list(tmp_path.glob("typo*"))


def test_an_empty_store_is_no_error(cli):
    assert cli.run("store", "init").code == 0
    done = cli.run("status", "--json")
    assert (done.code, done.out) == (0, "")
    done = cli.run("status")
    assert done.code == 0 and done.out.startswith("# 0 names")
    done = cli.run("history", "nothing")
    assert (done.code, done.out) == (0, "") and "no tenure is known" in done.err


def test_status_tells_who_since_when_which_token_how_long_and_who_waits(cli):
    holder, token = cli.hold("billing/import", "--as", "node-a", "--value", "pid file",
                             "--ttl", "60s")
    cli.start("lock", "--as", "node-b", "--priority", "3", "billing/import", "--", "true")
    cli.wait_for_waiters("billing/import", 1)
    o = cli.status()["billing/import"]
    assert o["kind"] == "lock" and o["permits"] == 1 and o["vacant_ms"] is None
    assert o["age_ms"] >= 0 and o["store"] == cli.store
    held, waits = o["holders"][0], o["waiting"][0]
    assert held["token"] == token and held["token_text"] == str(token)
    assert held["as"] == "node-a" and held["value"] == "pid file" and held["state"] == "held"
    assert held["since_ms"] >= 0 and 30_000 < held["left_ms"] <= 60_000
    assert held["ttl_ms"] == 60_000 and waits["ttl_ms"] == 10_000, "mixed settings are visible"
    assert waits["as"] == "node-b" and waits["priority"] == 3 and waits["token"] is None
    text = cli.run("status").out.splitlines()
    assert text[0].split() == ["NAME", "KIND", "STATE", "TOKEN", "HOLDER", "SINCE", "LEFT",
                               "WAITING"]
    assert text[1].split()[:5] == ["billing/import", "lock", "held", str(token), "node-a"]
    assert text[1].split()[-1] == "1" and text[2].startswith("# 1 name")
    assert "node-b" not in "\n".join(text)
    verbose = cli.run("status", "-v").out.splitlines()
    assert "node-b" in verbose[2] and "waiting" in verbose[2] and "pid file" in verbose[1]


def test_status_takes_a_name_or_a_prefix(cli):
    for name in "a", "a/b", "a/c", "ab":
        cli.run("lock", name, "--", "true")
    assert list(cli.status()) == ["a", "a/b", "a/c", "ab"]
    assert list(cli.status("a")) == ["a"], "a name alone when there is exactly that"
    assert list(cli.status("a/")) == ["a/b", "a/c"]
    assert list(cli.status("x")) == []


def test_status_leaves_out_and_counts_what_is_free_unless_asked(cli):
    cli.run("lock", "a", "--", "true")
    cli.run("lock", "b", "--", "true")
    cli.hold("c")
    assert [o["name"] for o in cli.run("status", "--json").objects] == ["c"]
    lines = cli.run("status").out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["c"]
    assert lines[-1].startswith("# 1 name in use, and 2 free (--all shows them)")
    assert [o["name"] for o in cli.run("status", "--json", "a").objects] == ["a"]
    assert [o["name"] for o in cli.run("status", "--json", "--all").objects] == ["a", "b", "c"]
    assert "3 names, at most" in cli.run("status", "-a").out


def test_history_tells_what_ended_each_tenure_and_the_gaps(cli):
    cli.run("lock", "--as", "one", "a", "--", "true")
    holder, _ = cli.hold("a", "--as", "two")
    holder.send(signal.SIGKILL)
    holder.wait()
    cli.run("lock", "--as", "three", "a", "--", "sh", "-c", "exit 3")
    holder, token = cli.hold("a", "--as", "four")
    past = cli.history("a")
    assert [p["as"] for p in past] == ["four", "three", "two", "one"]
    assert [p["cause"] for p in past] == [None, "released", "died", "released"]
    assert past[0]["to"] is None and past[0]["token"] == token
    assert all(p["held_ms"] >= 0 for p in past)
    assert past[1]["gap_ms"] is not None and past[3]["gap_ms"] is None
    tokens = [p["token"] for p in past]
    assert tokens == sorted(set(tokens), reverse=True)
    text = cli.run("history", "a").out.splitlines()
    assert text[0].split()[:2] == ["TOKEN", "HOLDER"]
    assert [line.split()[1] for line in text[1:]] == ["four", "three", "two", "one"]


# ---- watch ------------------------------------------------------------------------------------


def test_watch_prints_one_json_line_for_each_change(cli):
    holder, token = cli.hold("a/x", "--as", "h")
    watch = cli.start("watch", "a/")

    def event(kind, **fields):
        wanted = {"event": kind, **fields}
        return json.loads(watch.out.wait_for(
            lambda line: wanted.items() <= json.loads(line).items()))

    first = event("granted", name="a/x")
    assert first["initial"] is True and first["token"] == token and first["as"] == "h"
    cli.run("lock", "other", "--", "true")
    waiter = cli.start("lock", "--as", "w", "a/x", "--", "true")
    asked = event("asked", **{"as": "w"})
    assert asked["token"] is None and "initial" not in asked
    holder.send(signal.SIGTERM)
    ended = event("ended", **{"as": "h"})
    assert ended["cause"] == "released" and ended["token_text"] == str(token)
    assert event("granted", **{"as": "w"})["token"] > token
    assert event("ended", **{"as": "w"})["cause"] == "released"
    lead = cli.start("lead", "--as", "l", "a/role")
    event("serving", name="a/role", **{"as": "l"})
    lead.send(signal.SIGKILL)
    assert waiter.wait() == 0
    assert watch.running
    assert not any(json.loads(line)["name"] == "other" for line in watch.out.lines)
    watch.send(signal.SIGTERM)
    assert watch.wait() == 128 + signal.SIGTERM


def test_watch_reports_tenures_that_came_and_went_between_two_looks(cli):
    cli.hold("before")
    watch = cli.start("watch")
    watch.out.wait_for('"initial":true')
    for i in range(5):
        assert cli.run("lock", "--as", f"n{i}", "quick", "--", "true").code == 0
    for i in range(5):
        for kind in "granted", "ended":
            watch.out.wait_for(lambda t: json.loads(t)["event"] == kind
                               and json.loads(t)["as"] == f"n{i}")


# ---- evict ------------------------------------------------------------------------------------


def test_a_forced_release_never_hits_another_holder(cli):
    holder, old = cli.hold("a", "--as", "seen")
    holder.send(signal.SIGTERM)
    holder.wait()
    successor, token = cli.hold("a", "--as", "successor")
    done = cli.run("evict", "a", "--token", old, "--reason", "it hangs")
    assert done.code == LOST and str(old) in done.err
    assert cli.holders("a")[0]["token"] == token and cli.holders("a")[0]["state"] == "held"
    assert successor.running


def test_an_evicted_live_holder_stops_before_the_next_starts(cli):
    log = cli.directory / "log"
    holder = cli.start("lock", "a", "--", "sh", "-c",
                       f"trap 'echo stopped >> {log}; exit 0' TERM; echo ready; "
                       "while :; do sleep 0.02; done")
    holder.out.wait_for("ready")
    waiter = cli.start("lock", "a", "--", "sh", "-c", f"echo next $TENURE_TOKEN >> {log}")
    cli.wait_for_waiters("a", 1)
    token = cli.holders("a")[0]["token"]
    assert cli.run("evict", "a", "--token", token, "--reason", "maintenance").code == 0
    assert waiter.wait() == 0 and holder.wait() == LOST
    first, second = log.read_text().splitlines()
    assert first == "stopped" and int(second.split()[1]) > token


def test_a_long_dead_holder_is_evicted_at_once(cli):
    holder, token = cli.hold("a", "--ttl", "1h")
    holder.send(signal.SIGKILL)
    holder.wait()
    done = cli.run("evict", "a", "--token", token, "--reason", "dead", "--as", "anna")
    assert done.code in (0, LOST)  # somebody may have tidied it up before
    assert cli.holders("a") == [] or cli.holders("a")[0]["state"] == "dead"
    assert cli.history("a")[0]["cause"] in ("died", "evicted")


# ---- doctor and store -------------------------------------------------------------------------


def test_who_looks_at_a_store_that_is_not_there_does_not_make_it(cli):
    mistyped = ["--store", f"sqlite:{cli.directory}/mistyped.db"]
    for command in (["status"], ["history", "a"], ["doctor"], ["store", "check"],
                    ["store", "upgrade"], ["config", "get", "a"],
                    ["evict", "a", "--token", "1", "--reason", "x"]):
        done = cli.run(*command, *mistyped)
        assert done.code == UNREACHABLE and "no such store" in done.err, (command, done.err)
    watches = [cli.start(*command, *mistyped) for command in (["watch"], ["config", "watch"])]
    for watch in watches:
        watch.err.wait_for("no such store; going on trying")
    assert not list(cli.directory.glob("mistyped*"))
    assert cli.run("lock", *mistyped, "--as", "me", "a", "--", "true").code == 0
    assert cli.run("config", "put", "k", "v", *mistyped).code == 0
    watches[0].err.wait_for("answers")
    for watch, line in zip(watches, ('"ended"', '"k"')): # all of it came after the watch did
        assert "initial" not in json.loads(watch.out.wait_for(line))


def test_doctor_does_not_mind_that_the_user_has_no_store_yet():
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] \
        if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        done = subprocess.run([*user, str(BINARY), "doctor"], capture_output=True, text=True,
                              env={"HOME": home}, cwd="/", timeout=LIMIT_S)
        assert done.returncode in (0, 1) and "there is none yet" in done.stdout, done.stderr
        assert os.listdir(home) == []


def test_doctor_says_one_line_for_each_finding_and_shows_the_timing(cli):
    assert cli.run("store", "init").code == 0
    done = cli.run("doctor", "--ttl", "30s")
    lines = done.out.splitlines()
    findings = [line for line in lines if line.startswith(("ok ", "warn "))]
    assert len(findings) >= 6
    assert done.code == (1 if any(line.startswith("warn") for line in findings) else 0)
    for part in "pidfd", "cgroup", "CLOCK_BOOTTIME", "TTL 30s", "overlap":
        assert part in done.out


def test_store_commands_create_and_check(cli):
    done = cli.run("store", "init")
    assert (done.code, done.out) == (0, f"{cli.store}\n")
    assert (cli.directory / "tenure.db").exists()
    cli.hold("a")
    done = cli.run("store", "check")
    assert done.code == 0 and "1 name, 1 held, 0 waiting" in done.out
    assert cli.run("store", "upgrade").code == 0


def test_a_store_that_went_back_is_refused_until_an_operator_says_how_far(cli):
    copy = cli.directory / "copy.db"
    assert cli.run("store", "init").code == 0
    subprocess.run(["sqlite3", "tenure.db", f".backup {copy}"], cwd=cli.directory, check=True)
    for _ in range(3):
        token = cli.run("lock", "a", "--", "sh", "-c", "echo $TENURE_TOKEN").out.strip()
    for name in "tenure.db", "tenure.db-wal", "tenure.db-shm":
        (cli.directory / name).unlink(missing_ok=True)
    copy.rename(cli.directory / "tenure.db")
    done = cli.run("lock", "a", "--", "echo", "ran")
    assert (done.code, done.out) == (DENIED, "")
    assert "--raise-to" in done.err
    done = cli.run("store", "check", "--raise-to", token)
    assert done.code == 0, done.err
    done = cli.run("lock", "a", "--", "sh", "-c", "echo $TENURE_TOKEN")
    assert done.code == 0 and int(done.out) > int(token)


def test_a_store_named_twice_or_wrongly_is_64(cli):
    for url, named in [("sqlite", "sqlite"), ("sqlite:", "sqlite:"), ("sqllite:x.db", "sqllite"),
                       ("http://x", "http://x"), ("sqlite:x.db?mode=ro", "mode=ro")]:
        done = cli.run("status", "--store", url)
        assert done.code == USAGE and named in done.err, (url, done.err)
        assert not (cli.directory / "x.db").exists()


def test_the_default_store_is_in_the_state_directory_of_the_user(cli, binary_for_all):
    if os.geteuid() == 0:  # root's is /var/lib: not ours to touch in a test
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "--", binary_for_all,
                               "store", "init"], capture_output=True, text=True, cwd="/",
                              env={**{k: v for k, v in cli.env.items() if k != "TENURE_STORE"},
                                   "XDG_STATE_HOME": "/nonexistent/state"})
        assert done.returncode == DENIED and "/nonexistent" in done.stderr
        return
    env = {k: v for k, v in cli.env.items() if k != "TENURE_STORE"}
    done = subprocess.run([str(BINARY), "store", "init"], env=env, capture_output=True, text=True)
    assert done.stdout == f"sqlite:{cli.directory}/.local/state/tenure/tenure.db\n"


def test_a_store_whose_path_is_not_utf_8_can_be_shown(cli):
    folder = os.fsencode(cli.directory) + b"/\xff"
    os.mkdir(folder)
    url = b"sqlite:" + folder + b"/s.db"
    for arguments in ([b"lock", b"a", b"--", b"true"], [b"status", b"--json", b"a"]):
        done = subprocess.run([os.fsencode(BINARY), *arguments[:1], b"--store", url,
                               *arguments[1:]], capture_output=True, env=cli.env)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["store"].endswith("/?/s.db")


@pytest.mark.parametrize("limit", [7, 8, 9, 12, 14])
def test_too_few_descriptors_are_named(cli, limit):
    assert cli.run("lock", "job", "--", "true").code == 0
    done = cli.run("lock", "job", "--", "echo", "ran",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    assert done.code == INTERNAL and done.out == ""
    assert "Too many open files" in done.err, done.err
    assert cli.run("lock", "-n", "job", "--", "true").code == 0
