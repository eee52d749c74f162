"""tenure lead: terms, hand-overs and what ends them."""
import os
import re
import signal

from conftest import LOST, REFUSED, DENIED, USAGE, wait_until

SERVE = ("sh", "-c", "trap 'exit 0' TERM; echo epoch $TENURE_EPOCH; "
                     "while :; do sleep 0.05; done")


def lead(cli, who, *options, command=SERVE):
    return cli.start("lead", "--as", who, *options, "role", "--", *command)


def leader(cli):
    holders = cli.holders("role")
    return holders[0]["as"] if holders else None


def serving(cli, who):
    wait_until(lambda: [h["as"] for h in cli.holders("role") if h["state"] == "serving"] == [who],
               f"{who} serving")


def test_one_leads_and_the_others_stand_by(cli):
    a = lead(cli, "a")
    first = int(a.out.wait_for("epoch").split()[1])
    serving(cli, "a")
    b = lead(cli, "b")
    cli.wait_for_waiters("role", 1)
    assert f"waiting for role, held by a" in b.err.wait_for("waiting")
    a.send(signal.SIGKILL)
    second = int(b.out.wait_for("epoch").split()[1])
    assert second > first and leader(cli) == "b"
    assert f"leading role, epoch {second}" in b.err.wait_for("leading")


def test_a_command_that_ends_by_itself_ends_the_lead_with_its_code(cli):
    assert cli.run("lead", "role", "--", "sh", "-c", "exit 5").code == 5
    assert cli.run("lead", "--once", "role", "--", "true").code == 0
    assert [p["cause"] for p in cli.history("role")] == ["released", "released"]


def test_a_resigned_leader_stops_and_stands_again_behind_the_others(cli):
    a, b = lead(cli, "a"), None
    epoch = int(a.out.wait_for("epoch").split()[1])
    b = lead(cli, "b")
    cli.wait_for_waiters("role", 1)
    done = cli.run("resign", "role", "--as", "anna")
    assert (done.code, done.out) == (0, f"{epoch}\n")
    b.out.wait_for("epoch")
    assert [w["as"] for w in cli.wait_for_waiters("role", 1)] == ["a"]
    last = cli.history("role")[1]
    assert (last["token"], last["cause"], last["by"]) == (epoch, "resigned", "anna")
    b.send(signal.SIGKILL)
    wait_until(lambda: leader(cli) == "a", "a leading again")
    assert a.running


def test_a_leader_that_is_told_to_end_while_its_term_ends_does_not_stand_again(cli):
    stubborn = "trap 'n=$((n+1)); echo told $n' TERM; echo epoch; " \
               "while [ ${n:-0} -lt 2 ]; do sleep 0.02; done"
    a = cli.start("lead", "--as", "a", "role", "--", "sh", "-c", stubborn)
    a.out.wait_for("epoch")
    assert cli.run("resign", "role").code == 0
    a.out.wait_for("told 1")
    a.send(signal.SIGTERM)
    assert a.wait() == 128 + signal.SIGTERM
    assert cli.holders("role") == []


def test_with_once_a_term_that_is_ended_is_81(cli):
    a = lead(cli, "a", "--once")
    a.out.wait_for("epoch")
    assert cli.run("resign", "role").code == 0
    assert a.wait() == LOST


def test_a_transfer_waits_until_the_named_candidate_serves(cli):
    a = lead(cli, "a")
    a.out.wait_for("epoch")
    lead(cli, "b"), cli.wait_for_waiters("role", 1)
    c = lead(cli, "c")
    cli.wait_for_waiters("role", 2)
    done = cli.run("transfer", "role", "--to", "c", "--as", "anna")
    assert done.code == 0, done.err
    assert c.out.wait_for("epoch") == f"epoch {done.out.strip()}"
    serving(cli, "c")
    past = cli.history("role")[1]
    assert (past["cause"], past["by"], past["successor"]) == ("transferred", "anna", "c")
    assert not past["reason"]
    assert "to c" in cli.run("history", "role").out
    assert "transferred by anna to c" in a.err.wait_for("to end")


def test_a_transfer_to_a_candidate_whose_work_is_done_at_once_is_done(cli):
    """P6: `transfer` looks now and then, and the candidate may have ended between two looks."""
    lead(cli, "a", "--once").out.wait_for("epoch")
    b = lead(cli, "b", "--once", command=("true",))
    cli.wait_for_waiters("role", 1)
    done = cli.run("transfer", "role", "--to", "b", "-w", "10s")
    assert done.code == 0, done.err
    assert b.wait() == 0
    last, before = cli.history("role")
    assert (last["token_text"], last["cause"], last["reason"]) == (done.out.strip(), "released", "")
    assert before["cause"] == "transferred"


def test_a_transfer_to_a_candidate_that_cannot_begin_is_rolled_back(cli):
    lead(cli, "a", "--once").out.wait_for("epoch")
    b = lead(cli, "b", "--once", command=("./missing",))
    cli.wait_for_waiters("role", 1)
    done = cli.run("transfer", "role", "--to", "b", "-w", "1s")
    assert done.code == REFUSED and "b did not serve in time" in done.err
    assert b.wait() == 127
    past = cli.history("role")[0]
    assert (past["as"], past["cause"], past["reason"]) == ("b", "released", "did not serve")


def test_a_transfer_to_nobody_touches_nothing(cli):
    assert cli.run("store", "init").code == 0
    done = cli.run("transfer", "role", "--to", "b")
    assert done.code == LOST and "no leader" in done.err
    a = lead(cli, "a")
    a.out.wait_for("epoch")
    done = cli.run("transfer", "role", "--to", "b")
    assert done.code == LOST and "known as b" in done.err and "tenure status -v" in done.err
    done = cli.run("transfer", "role", "--to", "a")
    assert done.code == LOST and "role is led by a already" in done.err
    assert leader(cli) == "a" and a.running


def test_a_candidate_that_does_not_serve_is_rolled_back(cli):
    a = lead(cli, "a")
    a.out.wait_for("epoch")
    b = lead(cli, "b", command=("./missing-until-then",))
    cli.wait_for_waiters("role", 1)
    b.send(signal.SIGSTOP)
    done = cli.run("transfer", "role", "--to", "b", "-w", "1s")
    assert done.code == REFUSED and "rolled back" in done.err
    b.send(signal.SIGCONT)
    b.send(signal.SIGKILL)
    wait_until(lambda: leader(cli) == "a", "a leading again")


def test_no_wait_and_a_limit_hold_for_lead_too(cli):
    lead(cli, "a").out.wait_for("epoch")
    assert cli.run("lead", "-n", "role", "--", "true").code == REFUSED
    assert cli.run("lead", "-w", "200ms", "role", "--", "true").code == REFUSED
    assert cli.waiting("role") == []


def test_a_signal_while_standing_by_ends_it_within_a_second(cli):
    lead(cli, "a").out.wait_for("epoch")
    b = lead(cli, "b")
    cli.wait_for_waiters("role", 1)
    b.send(signal.SIGTERM)
    assert b.wait(2) == 128 + signal.SIGTERM
    assert cli.waiting("role") == []


def test_a_signal_while_leading_is_the_commands(cli):
    a = lead(cli, "a")
    a.out.wait_for("epoch")
    a.send(signal.SIGTERM)
    assert a.wait() == 0, "the command's code, and no new term"


def test_without_a_command_the_epoch_is_printed(cli):
    a = cli.start("lead", "--value", "10.0.0.7:80", "role")
    epoch = int(a.out.wait_for(str.isdigit))
    wait_until(lambda: cli.holders("role")[0]["state"] == "serving", "serving")
    assert cli.holders("role")[0]["value"] == "10.0.0.7:80"
    assert cli.run("resign", "role").out == f"{epoch}\n"
    assert a.wait() == LOST


def test_a_leader_that_was_paused_for_too_long_stands_again(cli):
    a = lead(cli, "a", "--ttl", "500ms")
    first = a.out.wait_for("epoch")
    a.send(signal.SIGSTOP)
    while "which is stopped" in cli.run("status").err:  # inside the gate: a test of its own
        a.send(signal.SIGCONT)
        a.send(signal.SIGSTOP)
    wait_until(lambda: not any(h["alive"] for h in alive(cli)), "the lease over")
    a.send(signal.SIGCONT)
    second = a.out.wait_for("epoch", start=1)
    assert int(second.split()[1]) > int(first.split()[1])
    a.err.wait_for("is lost: no renewal")


def alive(cli):
    return [{"alive": h["state"] != "dead"} for h in cli.holders("role")]


def pauses(process):
    """How long it said that it would leave the role to others, in milliseconds."""
    found = [re.search(r"standing again in ([0-9.]+)(m?s)", line) for line in process.err.lines]
    return [float(m[1]) * (1 if m[2] == "ms" else 1000) for m in found if m]


def test_a_candidate_whose_probe_fails_pauses_longer_each_time(cli):
    a = lead(cli, "a", "--ttl", "1s", "--probe", "test -e healthy && touch passed")
    wait_until(lambda: len(pauses(a)) == 3, "three terms")
    for n, pause in enumerate(pauses(a)):
        assert 500 * 2 ** n <= pause <= 1000 * 2 ** n, pauses(a)
    (cli.directory / "healthy").touch()
    wait_until((cli.directory / "passed").exists, "a term in which it succeeds")
    before = len(pauses(a))
    (cli.directory / "healthy").unlink()
    wait_until(lambda: len(pauses(a)) > before, "the end of that term")
    assert pauses(a)[before] <= 1000, pauses(a)


def test_while_a_sick_candidate_pauses_another_leads_and_a_signal_ends_the_pause(cli):
    a = lead(cli, "a", "--ttl", "5s", "--probe", "false")
    a.out.wait_for("epoch")
    lead(cli, "b").out.wait_for("epoch")
    a.err.wait_for("standing again")
    a.send(signal.SIGTERM)
    assert a.wait(2) == 128 + signal.SIGTERM and cli.waiting("role") == []


def test_a_guard_that_cannot_be_told_keeps_the_command_from_starting(cli):
    done = cli.run("lead", "--guard", "sqlite:missing.db", "role", "--", "echo", "ran")
    assert done.code not in (0, 80, 81) and done.out == ""
    assert "not started" in done.err
    assert cli.holders("role") == [] and not os.path.exists(cli.directory / "missing.db")


def test_the_guard_knows_the_token_before_the_command_starts(cli):
    import sqlite3
    db = sqlite3.connect(cli.directory / "ledger.db")
    db.execute("create table invoice(n)")
    db.close()
    done = cli.run("guard", "install", "sqlite:ledger.db", "--name", "role", "--table", "invoice")
    assert done.code == 0, done.err
    done = cli.run("lead", "--guard", "sqlite:ledger.db", "role", "--", "sh", "-c",
                   f"echo $TENURE_TOKEN; sqlite3 ledger.db 'select mark from tenure_guard'")
    assert done.code == 0, done.err
    token, mark = done.out.split()
    assert token == mark
