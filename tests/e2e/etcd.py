"""An etcd cluster for tests, by the file that the tests of the store use, too."""
import contextlib
import importlib.machinery
import importlib.util
import pathlib
import tempfile

import pytest

PATH = pathlib.Path(__file__).resolve().parent.parent / "store/with_etcd"  # a program, no .py
LOADER = importlib.machinery.SourceFileLoader("with_etcd", str(PATH))
with_etcd = importlib.util.module_from_spec(importlib.util.spec_from_loader("with_etcd", LOADER))
LOADER.exec_module(with_etcd)

Cluster = with_etcd.Cluster
available = with_etcd.available


@contextlib.contextmanager
def running_cluster(members=1, settings=(), **more):
    """A cluster, gone with its data at the end."""
    if not available():
        pytest.skip("etcd is not installed")
    with tempfile.TemporaryDirectory(prefix="tenure-etcd-") as directory:
        cluster = Cluster(directory, members, settings, **more)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
