"""What a seed of the simulator is worth: it says all of a run, and a failure leads back to it."""
import os
import re
import subprocess

import pytest

from conftest import BINARY, LIMIT_S

SIM = BINARY.parents[2] / "sim/sim"
SEEDS = range(1, 25)  # of both kinds of stores: the last test of this file checks it


def sim(*arguments, **env):
    """(exit code, stdout)"""
    done = subprocess.run([str(SIM), *map(str, arguments)], stdout=subprocess.PIPE,
                          timeout=LIMIT_S, check=False, env={**os.environ, **env})
    return done.returncode, done.stdout


def trace_of(seed, **env):
    code, trace = sim("--seed", seed, "-v", **env)
    assert code == 0
    return trace


@pytest.mark.parametrize("seed", SEEDS)
def test_two_processes_with_one_seed_show_the_same_trace_byte_for_byte(seed):
    # Addresses differ by themselves; what memory holds and where the stack is differs, too.
    first = trace_of(seed)
    second = trace_of(seed, MALLOC_PERTURB_="85", PADDING="x" * 5000)
    assert len(first.splitlines()) > 50
    assert first == second


def test_another_seed_shows_another_trace():
    assert trace_of(1).splitlines()[1:] != trace_of(2).splitlines()[1:]


def test_the_digest_is_that_of_the_trace_that_is_not_shown():
    shown, silent = sim("--seed", 7, "-v")[1].splitlines()[-1], sim("--seed", 7)[1].strip()
    assert shown == silent and re.search(rb"trace [0-9a-f]{16}$", silent)


def test_the_seed_is_on_the_first_and_on_the_last_line():
    lines = trace_of(11).splitlines()
    assert b" 11 " in lines[0] and lines[-1].startswith(b"seed 11:")


@pytest.mark.parametrize("step", (1, 2, 17))
def test_a_failing_seed_is_shown_with_the_shortest_prefix_that_still_fails(step):
    code, output = sim("--runs", 3, "--jobs", 1, "--forbid", step)
    text = output.decode()
    assert code == 1
    failed = re.findall(r"^seed (\d+) FAILED: test at [\d.]+ ms: step \d+ was taken$", text, re.M)
    assert failed == ["1", "2", "3"]
    assert re.findall(r"has (\d+) steps; to replay it", text) == [str(step)] * 3
    for seed in failed:
        assert f"make sim SEED={seed} STEPS={step}\n" in text
        assert sim("--seed", seed, "--steps", step, "--forbid", step)[0] == 1
        assert sim("--seed", seed, "--steps", step - 1, "--forbid", step)[0] == 0


def test_a_seed_that_fails_does_not_keep_the_others_from_running():
    code, output = sim("--runs", 30, "--jobs", 2, "--forbid", 200, "--bare")
    failed = len(re.findall(rb"^seed \d+ FAILED", output, re.M))
    counted = re.search(rb"(\d+) fine, (\d+) failed", output)
    assert code == 1 and 0 < failed < 30
    assert (int(counted[1]), int(counted[2])) == (30 - failed, failed)


def test_the_seeds_above_are_of_both_kinds_of_stores():
    kinds = {re.search(rb"store=(\w+)", trace_of(seed))[1] for seed in SEEDS}
    assert kinds == {b"embedded", b"networked"}
