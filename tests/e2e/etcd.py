"""An etcd cluster for tests, by the file that the tests of the store use, too."""
import contextlib
import pathlib
import tempfile

import pytest

from programs import load_program

PATH = pathlib.Path(__file__).resolve().parent.parent / "store/with_etcd"  # a program, no .py
with_etcd = load_program(PATH)

Cluster = with_etcd.Cluster
available = with_etcd.available


@contextlib.contextmanager
def running_cluster(members=1, settings=(), before=lambda cluster: None, **more):
    """A cluster, gone with its data at the end.  What is to be done `before` it starts."""
    if not available():
        pytest.skip("etcd is not installed")
    with tempfile.TemporaryDirectory(prefix="tenure-etcd-") as directory:
        cluster = Cluster(directory, members, settings, **more)
        try:
            before(cluster)
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
