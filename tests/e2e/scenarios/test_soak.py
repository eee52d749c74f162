"""The soak, short: tools/soak, and that its referee can tell a lock from none."""
import os
import re
import subprocess

import pytest

import etcd
from conftest import BINARY, ROOT
from postgres import postgres_server

LIMIT_S = 240


def soak(*options):
    folder = BINARY.parents[2]
    done = subprocess.run([str(ROOT / "tools/soak"), *options], capture_output=True, text=True,
                          env={**os.environ, "BUILD": str(folder)}, timeout=LIMIT_S)
    return done.returncode, done.stdout + done.stderr


def violations(text):
    return int(re.search(r"^violations: (\d+)", text, re.M).group(1))


@pytest.mark.parametrize("store", ["sqlite", "postgres", "etcd"])
def test_a_crowd_under_faults_breaks_no_promise_and_leaves_nothing(store):
    there = {"sqlite": lambda: True, "postgres": postgres_server.available,
             "etcd": etcd.available}
    if not there[store]():
        pytest.skip(f"{store} is not installed")
    code, text = soak("--minutes", os.environ.get("MINUTES", "0.2"), "--store", store)
    assert code == 0, text
    assert violations(text) == 0 and "leaks: 0" in text


def test_without_locks_the_referee_sees_it():
    code, text = soak("--minutes", "0.05", "--sabotage")
    assert code == 1, text
    assert violations(text) > 0
