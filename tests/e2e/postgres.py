"""A PostgreSQL server of the tests' own, started by the file that the C tests use, too."""
import contextlib
import importlib.machinery
import importlib.util
import os
import pathlib
import signal
import tempfile

import pytest

FILE = pathlib.Path(__file__).resolve().parent.parent / "store/with_postgres"


def _load():
    loader = importlib.machinery.SourceFileLoader("with_postgres", str(FILE))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


with_postgres = _load()


@contextlib.contextmanager
def running_server(*settings, port=None):
    """A server with these settings (name=value), gone with its data at the end.  With a port it
    listens on 127.0.0.1, too."""
    if not with_postgres.programs():
        pytest.skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory(prefix="tenure-pg-") as directory:
        os.chmod(directory, 0o755)  # the server is not root
        server = with_postgres.Server(f"{directory}/server", settings, port)
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)
