"""tenure lock: who is let in, what the command finds, and how it ends."""
import hashlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from conftest import (BINARY, DENIED, INTERNAL, LOST, REFUSED, UNREACHABLE, USAGE,
                      wait_until)
from supervised import LONG, VICTIM, children_of


def test_the_command_runs_while_the_lock_is_held(cli):
    done = cli.run("lock", "a", "--", "sh", "-c", "echo $TENURE_NAME $TENURE_TOKEN; exit 7")
    assert done.code == 7
    name, token = done.out.split()
    assert name == "a" and int(token) > 0
    assert done.err == "", "nothing is said when nothing happens"
    assert cli.history("a")[0]["token_text"] == token
    assert cli.history("a")[0]["cause"] == "released"


@pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 80, 81, 125, 126, 127, 255])
def test_the_commands_own_code_is_passed_on(cli, code):
    assert cli.run("lock", "a", "--", "sh", "-c", f"exit {code}").code == code


@pytest.mark.parametrize("signo", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_death_by_a_signal_is_128_and_its_number(cli, signo):
    assert cli.run("lock", "a", "--", "sh", "-c", f"kill -{int(signo)} $$").code == 128 + signo


def test_a_missing_command_is_127_and_one_that_cannot_run_126(cli, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("no program\n")
    done = cli.run("lock", "a", "--", "./missing")
    assert done.code == 127 and "./missing: No such file or directory" in done.err
    done = cli.run("lock", "a", "--", "./plain")
    assert done.code == 126 and "./plain: Permission denied" in done.err
    assert cli.holders("a") == []


def test_a_held_lock_is_refused_at_once_with_n(cli):
    holder, token = cli.hold("a", "--as", "holder-1")
    for option in ["-n"], ["-w", "0"], ["-w0"]:
        done = cli.run("lock", *option, "a", "--", "echo", "ran")
        assert (done.code, done.out) == (REFUSED, "")
        assert "holder-1" in done.err and str(token) in done.err
    assert cli.run("lock", "-n", "-q", "a", "--", "true").err == ""
    assert cli.run("lock", "-n", "-E", "7", "a", "--", "true").code == 7
    assert cli.run("lock", "-n", "-E", "0", "a", "--", "true").code == 0
    holder.send(signal.SIGTERM)
    assert holder.wait() == 0


@pytest.mark.parametrize("command", [["lock", "-n", "a", "--", "true"],
                                     ["lead", "-n", "a", "--", "true"],
                                     ["lease", "take", "a", "--ttl", "1h"]])
def test_a_store_in_memory_says_that_it_keeps_nobody_away(cli, command):
    done = cli.run(*command, env={"TENURE_STORE": "memory:a"})
    assert done.code == 0 and "no other command waits for what is held there" in done.err
    assert "no other command" not in cli.run(*command).err


def test_a_wait_ends_with_its_limit_and_leaves_nothing(cli):
    holder, _ = cli.hold("a")
    done = cli.run("lock", "-w", "300ms", "a", "--", "echo", "ran")
    assert (done.code, done.out) == (REFUSED, "")
    assert "waiting for a, held by" in done.err
    assert cli.waiting("a") == []
    assert holder.running


def test_waiters_are_served_in_order_and_by_priority(cli):
    holder, _ = cli.hold("a")
    waiters = []
    for name, priority in ("first", 0), ("second", 0), ("urgent", 5):
        waiters.append(cli.start("lock", "--as", name, "--priority", priority, "a", "--",
                                 "sh", "-c", f"echo {name} >> served"))
        cli.wait_for_waiters("a", len(waiters))
    assert [w["as"] for w in cli.waiting("a")] == ["urgent", "first", "second"]
    holder.send(signal.SIGTERM)
    assert [w.wait() for w in waiters] == [0, 0, 0]
    assert (cli.directory / "served").read_text().split() == ["urgent", "first", "second"]


def test_shared_holders_are_together_and_exclude_an_exclusive_one(cli):
    one, _ = cli.hold("a", "-s")
    two, _ = cli.hold("a", "-s")
    assert [(h["state"], h["shared"]) for h in cli.holders("a")] == [("held", True)] * 2
    assert cli.run("lock", "-n", "-x", "a", "--", "true").code == REFUSED
    for holder in one, two:
        holder.send(signal.SIGINT)
        assert holder.wait() == 0
    assert cli.run("lock", "-n", "-x", "a", "--", "true").code == 0


def test_permits_let_so_many_in_and_all_must_agree(cli):
    cli.hold("a", "--permits", "2")
    cli.hold("a", "--permits", "2")
    assert cli.run("lock", "-n", "--permits", "2", "a", "--", "true").code == REFUSED
    done = cli.run("lock", "-n", "--permits", "3", "a", "--", "true")
    assert done.code == REFUSED and "permits" in done.err
    done = cli.run("lead", "-n", "a", "--", "true")
    assert done.code == REFUSED and "in use as a lock, not as an election" in done.err


def test_without_a_command_the_token_alone_is_printed_and_a_signal_ends_it_well(cli):
    for signo in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT:
        holder, token = cli.hold("a")
        assert cli.holders("a")[0]["token"] == token
        holder.send(signo)
        assert holder.wait() == 0
        assert holder.out.text() == str(token) and holder.err.text() == ""
        assert cli.holders("a") == []


def test_json_without_a_command_is_one_object_with_token_and_ticket(cli):
    holder = cli.start("lock", "--json", "--as", "me", "a")
    o = json.loads(holder.out.wait_for("{"))
    assert o["name"] == "a" and o["kind"] == "lock" and o["token_text"] == str(o["token"])
    assert o["ticket"] == cli.holders("a")[0]["ticket"]
    assert o["store"] == cli.store


def test_a_token_that_cannot_be_printed_gives_the_lock_back(cli):
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(BINARY), "lock", "a"], env=cli.env, stdout=full,
                              stderr=subprocess.PIPE, timeout=30)
    assert done.returncode == INTERNAL
    assert cli.holders("a") == []


# ---- signals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_while_holding_reaches_the_command_which_has_its_time(cli, signo):
    script = (f"import signal, sys, time\n"
              f"def stop(n, f): print('got', n, flush=True); time.sleep(0.3); sys.exit(9)\n"
              f"signal.signal({int(signo)}, stop)\n"
              f"print('ready', flush=True)\n"
              f"while True: signal.pause()\n")
    holder = cli.start("lock", "a", "--", sys.executable, "-c", script)
    holder.out.wait_for("ready")
    holder.send(signo)
    assert holder.wait() == 9
    assert holder.out.text() == f"ready\ngot {int(signo)}"
    assert cli.history("a")[0]["cause"] == "released"
    assert cli.history("a")[0]["held_ms"] >= 300


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT,
                                   signal.SIGUSR1])
def test_a_signal_while_waiting_ends_the_wait_and_leaves_nothing(cli, signo):
    holder, _ = cli.hold("a")
    waiter = cli.start("lock", "a", "--", "echo", "ran")
    cli.wait_for_waiters("a", 1)
    waiter.send(signo)
    assert waiter.wait(2) == 128 + signo
    assert waiter.out.text() == ""
    assert cli.waiting("a") == [] and holder.running


def test_signals_ignored_at_the_start_stay_ignored(cli):
    holder = cli.start("lock", "a", "--", "sh", "-c", "echo ready; read x < fifo; echo done",
                       preexec_fn=lambda: (signal.signal(signal.SIGHUP, signal.SIG_IGN),
                                           os.mkfifo("fifo")))
    holder.out.wait_for("ready")
    holder.send(signal.SIGHUP)
    (cli.directory / "fifo").write_text("go\n")
    assert holder.wait() == 0
    assert holder.out.text() == "ready\ndone"


# ---- streams, descriptors and environment -----------------------------------------------------


def test_streams_pass_through_untouched(cli):
    done = cli.run("lock", "a", "--", "sh", "-c", "cat; echo to-stderr >&2", stdin="to-stdin\n")
    assert (done.out, done.err) == ("to-stdin\n", "to-stderr\n")


def test_the_command_inherits_no_descriptor_of_ours_but_the_users(cli):
    list_them = "import os; print(sorted(os.listdir('/proc/self/fd'), key=int))"
    r, w = os.pipe()
    bare = subprocess.run([sys.executable, "-c", list_them], capture_output=True, text=True,
                          pass_fds=[w])
    done = cli.run("lock", "a", "--", sys.executable, "-c", list_them, pass_fds=[w])
    os.close(r), os.close(w)
    assert done.out == bare.stdout


def environment(cli, *args, **options):
    done = cli.run(*args, "--", "env", **options)
    assert done.code == 0, done.err
    pairs = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
    return {k: v for k, v in pairs.items() if k.startswith("TENURE_")}


def test_the_command_finds_its_tenure_in_the_environment(cli):
    env = environment(cli, "lock", "a")
    assert set(env) == {"TENURE_NAME", "TENURE_TOKEN", "TENURE_TICKET", "TENURE_STORE"}
    assert env["TENURE_NAME"] == "a" and env["TENURE_STORE"] == cli.store
    env = environment(cli, "lead", "b")
    assert env["TENURE_EPOCH"] == env["TENURE_TOKEN"]


def test_the_store_in_the_environment_does_not_depend_on_the_directory(cli):
    env = environment(cli, "lock", "--store", "sqlite:here.db", "a")
    assert env["TENURE_STORE"] == f"sqlite:{cli.directory}/here.db"


def test_an_environment_of_any_size_is_passed_on(cli):
    env = {f"LARGE{i}": str(i) * 120_000 for i in range(9)}  # Linux has 128 KiB for one of them
    command = ["sh", "-c", "echo $LARGE0 $LARGE8 $TENURE_NAME | sha256sum"]
    done = cli.run("lock", "a", "--", *command, env=env)
    wanted = f"{env['LARGE0']} {env['LARGE8']} a\n".encode()
    assert (done.code, done.out.split()[0]) == (0, hashlib.sha256(wanted).hexdigest())


def test_a_nested_call_sees_its_own_values_and_the_outer_ones(cli):
    env = environment(cli, "lead", "one", "--", str(BINARY), "lock", "two", "--", str(BINARY),
                      "lock", "three")
    assert env["TENURE_NAME"] == "three" and "TENURE_EPOCH" not in env
    assert env["TENURE_OUTER_NAME"] == "two" and "TENURE_OUTER_EPOCH" not in env
    assert env["TENURE_OUTER_OUTER_NAME"] == "one"
    assert env["TENURE_OUTER_OUTER_EPOCH"] == env["TENURE_OUTER_OUTER_TOKEN"]
    tokens = [int(env[k]) for k in ("TENURE_OUTER_OUTER_TOKEN", "TENURE_OUTER_TOKEN",
                                    "TENURE_TOKEN")]
    assert tokens == sorted(set(tokens))


def test_check_stands_while_the_lock_is_held_and_knows_outer_names(cli):
    script = (f"{BINARY} check && {BINARY} check inner && {BINARY} check outer && "
              f"! {BINARY} check other")
    done = cli.run("lock", "outer", "--", str(BINARY), "lock", "inner", "--", "sh", "-c", script)
    assert done.code == 0, done.err


def test_check_fails_once_the_tenure_is_over(cli):
    env = environment(cli, "lock", "a")
    done = cli.run("check", env=env)
    assert done.code == LOST and env["TENURE_TOKEN"] in done.err
    cli.hold("a")
    assert cli.run("check", env=env).code == LOST, "another tenure of the name is not this one"
    assert cli.run("check", env={**env, "TENURE_TOKEN": "x"}).code == USAGE


# ---- the end of a tenure ----------------------------------------------------------------------


def test_an_evicted_holders_command_is_stopped_and_the_code_is_81_also_for_exit_0(cli):
    holder = cli.start("lock", "a", "--", "sh", "-c",
                       "trap 'echo stopped; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    holder.out.wait_for("ready")
    token = cli.holders("a")[0]["token"]
    assert cli.run("evict", "a", "--token", token, "--reason", "night shift", "--as", "anna",
                   ).code == 0
    assert holder.wait() == LOST
    assert holder.out.text() == "ready\nstopped"
    assert "night shift" in holder.err.text() and "anna" in holder.err.text()
    last = cli.history("a")[0]
    assert (last["cause"], last["by"], last["reason"]) == ("evicted", "anna", "night shift")


def test_a_holder_without_a_command_ends_with_81_when_it_is_evicted(cli):
    holder, token = cli.hold("a")
    assert cli.run("evict", "a", "--token", token, "--reason", "x").code == 0
    assert holder.wait() == LOST


def test_a_suspended_wrapper_loses_the_lock_and_its_command_is_gone(cli):
    holder = cli.start("lock", "--ttl", "500ms", "a", "--", "sh", "-c", "echo $$; exec sleep 100")
    pid = int(holder.out.wait_for(str.isdigit))
    holder.send(signal.SIGSTOP)
    next_holder, token = cli.hold("a")
    assert not os.path.exists(f"/proc/{pid}"), "the guardian ended it before the next came in"
    holder.send(signal.SIGCONT)
    assert holder.wait() == LOST
    assert "is lost: no renewal" in holder.err.text()
    assert cli.holders("a")[0]["token"] == token and next_holder.running


def test_the_stop_signal_is_the_users_choice_and_kill_follows_in_time(cli):
    holder = cli.start("lock", "--ttl", "1s", "--signal", "USR1", "a", "--", "sh", "-c",
                       "trap 'echo got USR1' USR1; trap '' TERM; echo ready; "
                       "while :; do sleep 0.02; done")
    holder.out.wait_for("ready")
    token = cli.holders("a")[0]["token"]
    assert cli.run("evict", "a", "--token", token, "--reason", "stubborn").code == 0
    holder.out.wait_for("got USR1")
    assert holder.wait() == LOST
    assert cli.holders("a") == []


def test_a_killed_guardian_takes_the_command_with_it_and_is_84(cli):
    holder = cli.start("lock", "a", "--", "sh", "-c", "echo $$ $PPID; exec sleep 100")
    command, guardian = map(int, holder.out.wait_for(" ").split())
    os.kill(guardian, signal.SIGKILL)
    assert holder.wait() == INTERNAL
    assert "guardian" in holder.err.text() and not os.path.exists(f"/proc/{command}")
    assert cli.holders("a") == []


def guardian_of(wrapper):
    """Its only child, while no probe runs."""
    (pid, name), = children_of(wrapper.pid)
    assert name == "guardian"
    return pid


@pytest.fixture(params=["lock", "lead"])
def waiter(cli, request):
    """Waits for "a", whose holder ends when it is told to."""
    holder = cli.start(request.param, "a")
    holder.out.wait_for(lambda line: line.isdigit())
    process = cli.start(request.param, "--ttl", "1s", "a", "--", "sh", "-c", "echo $PPID ran")
    cli.wait_for_waiters("a", 1)
    process.let_in = lambda: (holder.send(signal.SIGTERM), holder.wait())
    return process


def test_the_guardian_stands_by_while_its_command_waits(waiter):
    guardian = guardian_of(waiter)
    waiter.let_in()
    assert waiter.wait() == 0
    assert waiter.out.text() == f"{guardian} ran"


def test_a_guardian_that_was_killed_while_it_stood_by_is_replaced(waiter):
    guardian = guardian_of(waiter)
    dead = os.pidfd_open(guardian)
    os.kill(guardian, signal.SIGKILL)
    assert select.select([dead], [], [], LONG)[0]  # until then it could still be given orders
    os.close(dead)
    waiter.let_in()
    assert waiter.wait() == 0
    assert waiter.out.text().endswith(" ran") and str(guardian) not in waiter.out.text()


def test_a_guardian_that_was_stopped_while_it_stood_by_is_continued_by_a_renewal(waiter):
    os.kill(guardian_of(waiter), signal.SIGSTOP)
    waiter.let_in()
    assert waiter.wait() == 0
    assert waiter.out.text().endswith(" ran")


def test_a_guardian_that_stood_by_ends_with_a_killed_waiter(cli, waiter):
    guardian = os.pidfd_open(guardian_of(waiter))
    waiter.send(signal.SIGKILL)
    assert select.select([guardian], [], [], LONG)[0]
    os.close(guardian)
    waiter.let_in()
    assert cli.run("lock", "a", "--", "echo", "next").out == "next\n"
    assert waiter.out.text() == ""


def test_v_says_what_happens_and_q_nothing(cli):
    done = cli.run("lock", "-v", "a", "--", "true")
    assert re.fullmatch(r"tenure: acquired a, token \d+\ntenure: gave back a\n", done.err)
    done = cli.run("lead", "-q", "b", "--", "true")
    assert (done.code, done.err) == (0, "")


def test_what_the_command_leaves_behind_ends_before_the_lock_is_given_back(cli):
    daemon = "setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 100' 2> /dev/null"
    done = cli.run("lock", "--ttl", "1s", "a", "--", "sh", "-c",
                   f"mkfifo f; {daemon} > f & read pid < f; echo $pid")
    pid = int(done.out)
    assert done.code == 0 and not os.path.exists(f"/proc/{pid}")
    assert "sh has ended and left 1 process behind: ending it" in done.err


def test_a_failing_probe_ends_the_tenure_by_the_ordinary_course(cli):
    healthy = cli.directory / "healthy"
    healthy.touch()
    holder = cli.start("lock", "--ttl", "2s", "--probe", "test -e healthy", "a", "--", "sh",
                       "-c", "echo ready; exec sleep 100")
    holder.out.wait_for("ready")
    wait_until(lambda: cli.holders("a")[0]["since_ms"] > 4000, "two ttls of renewals")
    healthy.unlink()
    assert holder.wait() == LOST
    err = holder.err.text()
    assert err.count("the probe fails") == 1 and "a is in doubt" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("work,code", [("100", LOST), ("0.5", 0)])
def test_a_probe_that_cannot_be_killed_counts_as_failing_and_delays_nobody(
        work, code, binary_for_all):
    """As one that hangs in the kernel: here it becomes root's, and tenure is not root."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        probe = shutil.copy(VICTIM, folder)
        os.chmod(probe, 0o4755)
        with open(f"{folder}/err", "w+", encoding="utf-8") as err:
            holder = subprocess.Popen(
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--",
                 binary_for_all, "lock", "--store", f"sqlite:{folder}/s.db", "--ttl", "1200ms",
                 "--probe", f"exec {probe} 1 u", "a", "--", "sleep", work], stderr=err, cwd="/")
            try:
                assert holder.wait(20) == code, open(f"{folder}/err").read()
            finally:
                holder.kill()
                text = open(f"{folder}/err").read()
                for pid in set(re.findall(r"^(\d+)$", text, re.M)):
                    os.kill(int(pid), signal.SIGKILL)
            assert code == 0 or "the probe takes too long" in text


def test_a_probe_that_hangs_counts_as_failing(cli):
    holder = cli.start("lock", "--ttl", "600ms", "--probe", "sleep 100", "a", "--", "sleep", "100")
    assert holder.wait() == LOST
    assert "the probe takes too long" in holder.err.text()


def test_the_death_of_a_holder_lets_the_next_one_in_at_once(cli):
    holder = cli.start("lock", "--ttl", "1h", "a", "--", "sh", "-c", "echo ready; exec sleep 100")
    holder.out.wait_for("ready")
    waiter = cli.start("lock", "a", "--", "echo", "next")
    cli.wait_for_waiters("a", 1)
    holder.send(signal.SIGKILL)
    waiter.out.wait_for("next")
    assert waiter.wait() == 0
    assert [p["cause"] for p in cli.history("a")] == ["released", "died"]


# ---- trouble with the store -------------------------------------------------------------------


def test_a_store_that_cannot_be_made_is_83_and_nothing_runs(cli):
    done = cli.run("lock", "--store", "sqlite:/proc/x/tenure.db", "a", "--", "echo", "ran")
    assert done.code in (DENIED, UNREACHABLE) and done.out == ""
    assert "/proc/x" in done.err


def test_a_file_of_another_program_is_refused(cli):
    (cli.directory / "other.db").write_text("not a database at all, but long enough to be one\n")
    done = cli.run("lock", "--store", "sqlite:other.db", "a", "--", "echo", "ran")
    assert (done.code, done.out) == (DENIED, "")
