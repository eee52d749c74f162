"""The PostgreSQL guard behind clients that do not use libpq, and behind a pooler (P10)."""
import os
import re
import shutil
import subprocess

import pytest

from conftest import LIMIT_S, ROOT, wait_until
from ledgers import NAME, PostgresLedger, tenure
from postgres import free_port, running_server

JDBC = "/usr/share/java/postgresql.jar"


@pytest.fixture
def ledger():
    with running_server(port=free_port()) as server:
        made = PostgresLedger(server)
        assert made.install().returncode == 0
        yield made
        made.end()


@pytest.mark.skipif(not (shutil.which("javac") and os.path.exists(JDBC)),
                    reason="needs a JDK and libpostgresql-jdbc-java")
def test_the_jdbc_example_of_the_manual_writes_and_is_fenced(ledger, tmp_path):
    page = (ROOT / "docs/guard-postgres.md").read_text()
    (tmp_path / "Bill.java").write_text(re.search(r"^```java\n(.*?)^```$", page, re.M | re.S)[1])
    ledger.sql("ALTER TABLE invoice ALTER id TYPE text, ALTER total TYPE integer")
    subprocess.run(["javac", "Bill.java"], cwd=tmp_path, check=True, timeout=4 * LIMIT_S)
    run = ["java", "-cp", f"{JDBC}:{tmp_path}", "Bill",
           f"jdbc:postgresql://127.0.0.1:{ledger.server.port}/{ledger.database}"]
    env = {"PGUSER": "postgres"}
    done = tenure("lock", "--guard", ledger.target, NAME, "--", *run, env=env,
                  store=tmp_path / "tenure.db")
    assert done.returncode == 0, done.stderr
    assert ledger.announce(ledger.mark() + 1).returncode == 0
    late = subprocess.run(run, text=True, capture_output=True, timeout=LIMIT_S, check=False,
                          env={**os.environ, **env, "TENURE_NAME": NAME, "TENURE_TOKEN": "1"})
    assert late.returncode == 1 and late.stderr.startswith("TNG01: ERROR: tenure: stale token")
    assert ledger.count() == 1


@pytest.fixture
def pooler(ledger):
    """The URL of the ledger behind PgBouncer: transaction mode, one connection for everybody."""
    if not shutil.which("pgbouncer"):
        pytest.skip("pgbouncer is not installed")
    directory, user = ledger.server.directory, ledger.server.user
    config = directory / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n* = host={directory} port={ledger.server.port} user=postgres\n"
        f"[pgbouncer]\nlisten_port = 6432\nunix_socket_dir = {directory}\nauth_type = any\n"
        "pool_mode = transaction\ndefault_pool_size = 1\n")
    process = subprocess.Popen([*user, shutil.which("pgbouncer"), str(config)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    url = f"postgres://postgres@/{ledger.database}?host={directory}&port=6432"
    wait_until(lambda: subprocess.run(["psql", url, "-c", "SELECT 1"], capture_output=True,
                                      check=False).returncode == 0, "the pooler's answer")
    yield url
    process.terminate()
    process.wait(LIMIT_S)


def test_behind_a_pooler_a_token_belongs_to_one_transaction(ledger, pooler):
    def psql(*statements, **env):
        commands = [word for sql in statements for word in ("-c", sql)]
        return subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", pooler, *commands],
                              text=True, capture_output=True, timeout=LIMIT_S, check=False,
                              env={**os.environ, **env})

    mine = ("BEGIN", f"SET LOCAL tenure.token = '{NAME}=42'", "INSERT INTO invoice VALUES (1, 1)",
            "COMMIT")
    assert tenure("guard", "announce", pooler, "--name", NAME, "--token", "42").returncode == 0
    done = psql(*mine)
    assert done.returncode == 0, done.stderr
    done = psql("INSERT INTO invoice VALUES (2, 2)")
    assert "tenure: missing" in done.stderr, "the same connection of the server, but not its token"
    done = psql("INSERT INTO invoice VALUES (2, 2)", PGOPTIONS=f"-c tenure.token={NAME}=42")
    assert done.returncode != 0 and "unsupported startup parameter" in done.stderr
    assert tenure("guard", "announce", pooler, "--name", NAME, "--token", "43").returncode == 0
    assert "tenure: stale" in psql(*mine).stderr
    assert (ledger.count(), ledger.mark()) == (1, 43)
    assert tenure("guard", "check", pooler).returncode == 0
