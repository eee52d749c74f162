"""A PostgreSQL server for a module of tests, by the file that the tests of the store use, too."""
import contextlib
import os
import pathlib
import signal
import socket
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "store"))
import postgres_server  # noqa: E402

# Debian's psql is a program in Perl that looks for the real one.
if postgres_server.programs():
    os.environ["PATH"] = f"{postgres_server.programs()}:{os.environ['PATH']}"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running_server(*settings, port=None, host=(), address=None):
    """A server with these settings (name=value), gone with its data at the end.  With a port it
    listens on 127.0.0.1, too; with an address, there, on the host that `host` brings it to."""
    if not postgres_server.available():
        pytest.skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory(prefix="tenure-pg-") as directory:
        os.chmod(directory, 0o755)  # the server is not root
        server = postgres_server.Server(f"{directory}/server", settings, port)
        if address:
            server.move(host, address)
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)
