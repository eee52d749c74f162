"""Scenario 9: scripts and supervisors decide on the exit code.

P6: no answer is ever guessed; granted, refused, lost, unsure and failed are told apart, and nothing
that failed is 0.
"""
import signal

import pytest

from conftest import DENIED, INTERNAL, LOST, REFUSED, UNREACHABLE, UNSURE, USAGE
from field import TOOLS, engine, freeze_outside, resource, shimmed, store, thaw  # noqa: F401

OWN = {USAGE, REFUSED, LOST, UNREACHABLE, DENIED, INTERNAL, UNSURE}


@pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 125, 126, 127, 255])
def test_the_commands_own_code_is_passed_on(cli, code):
    assert code not in OWN
    done = cli.run("lock", "job", "--", "sh", "-c", f"echo out; echo err >&2; exit {code}")
    assert (done.code, done.out, done.err) == (code, "out\n", "err\n")


@pytest.mark.parametrize("signo", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM],
                         ids=lambda s: s.name)
def test_a_command_that_dies_by_a_signal_is_128_and_its_number(cli, signo):
    done = cli.run("lock", "job", "--", "sh", "-c", f"ulimit -c 0; kill -{signo.value} $$")
    assert (done.code, done.out) == (128 + signo, "")


def test_the_streams_of_the_command_are_untouched(cli):
    data = bytes(range(256)).decode("latin1")
    done = cli.run("lock", "job", "--", "sh", "-c", "cat; printf '\\000\\377' | od -c >&2",
                   stdin=data.replace("\x00", "").replace("\r", ""))
    assert done.code == 0
    assert "\\0 377" in done.err
    assert "tenure" not in done.out


def test_a_missing_command_and_one_that_cannot_be_run(cli):
    assert cli.run("lock", "job", "--", "/no/such/command").code == 127
    assert cli.run("lock", "job", "--", "/etc/passwd").code == 126
    assert cli.holders("job") == []


def test_a_held_lock_is_80_with_and_without_a_limit(cli):
    cli.hold("job")
    for options in (["-n"], ["-w", "0"], ["-w", "100ms"]):
        done = cli.run("lock", *options, "job", "--", "true")
        assert (done.code, done.out) == (REFUSED, "")
        assert "job" in done.err
    assert cli.run("lock", "-n", "-E", "9", "job", "--", "true").code == 9


def test_a_store_that_is_down_is_82(cli, engine):
    assert cli.run("lock", "--ttl", "600ms", "job", "--", "true").code == 0
    with engine.hanging():
        done = cli.run("lock", "-n", "--ttl", "600ms", "job", "--", "true")
        assert (done.code, done.out) == (UNREACHABLE, "")
        assert done.err != ""


def test_a_loss_in_mid_run_is_81_whatever_the_command_says(cli, resource):
    for code in (0, 3):
        work = resource.worker(f"H{code}", code=code)
        h = cli.start("lock", "--ttl", "500ms", "job", "--", *work)
        resource.wait_for(f"H{code}")
        freeze_outside(cli, h.pid)
        resource.wait_for(f"H{code}", "end")
        cli.run("lock", "-w", "10", "job", "--", "true")  # somebody else was in
        thaw(h.pid)
        assert h.wait() == LOST


def test_a_renewal_of_an_unknown_lease_is_81(cli):
    assert cli.run("store", "init").code == 0
    assert cli.run("lease", "renew", "job", "--ttl", "1s", "--token", "7").code == LOST
    assert cli.run("lease", "drop", "job", "--token", "7").code == LOST


def breaking(writes):
    """A disk that fails so many writes of the store's log: nobody knows what it will have kept."""
    return {"LD_PRELOAD": str(TOOLS / "shim.so"), "SHIM_BREAK_LOG": str(writes)}


@shimmed
@pytest.mark.embedded
@pytest.mark.parametrize("command", ["evict", "lease renew", "lease drop", "lease take"])
def test_an_outcome_that_nobody_knows_is_85_and_asking_again_resolves_it(cli, command):
    token = cli.run("lease", "take", "--ttl", "1h", "job").out.strip()
    arguments = {
        "evict": ["job", "--token", token, "--reason", "test"],
        "lease renew": ["job", "--token", token, "--ttl", "2h"],
        "lease drop": ["job", "--token", token],
        "lease take": ["other", "--ttl", "1h"],
    }[command]
    done = cli.run(*command.split(), *arguments, env=breaking(1000))
    assert (done.code, done.out) == (UNSURE, "")
    assert "the outcome is unknown" in done.err
    assert cli.run(*command.split(), *arguments).code in (0, LOST)  # never unknown for ever


@shimmed
@pytest.mark.embedded
def test_a_try_whose_outcome_nobody_knows_is_85_and_runs_nothing(cli, engine):
    assert cli.run("store", "init").code == 0
    engine.crowd()
    done = cli.run("lock", "-n", "-E", "9", "job", "--", "echo", "ran", env=breaking(1000))
    assert (done.code, done.out) == (UNSURE, ""), done.err
    assert cli.run("lock", "-n", "job", "--", "true").code == 0  # its process is gone


@shimmed
@pytest.mark.embedded
@pytest.mark.parametrize("command", [["lease", "take", "--ttl", "1h", "job"],
                                     ["lock", "-w", "30", "job", "--", "printenv", "TENURE_TOKEN"]])
def test_a_lost_answer_is_resolved_by_the_ticket_where_there_is_time(cli, engine, command):
    assert cli.run("store", "init").code == 0
    engine.crowd()
    done = cli.run(*command, env=breaking(1))
    assert (done.code, done.out.strip().isdigit()) == (0, True), done.err
    assert int(done.out) == cli.history("job")[0]["token"]


def test_usage_is_64_and_touches_nothing(cli, engine):
    done = cli.run("lock", "--ttl", "never", "job", "--", "touch", "ran")
    assert (done.code, done.out) == (USAGE, "")
    assert not engine.embedded or not engine.path.exists()
    assert not (cli.directory / "ran").exists()


def test_the_codes_are_documented_and_none_is_shared(cli):
    page = cli.run("--help").out + cli.run("lock", "--help").out
    assert len(OWN) == 7
    assert all(str(code) in page for code in OWN - {INTERNAL})
