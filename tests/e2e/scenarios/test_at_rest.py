"""What who only holds costs an etcd: one renewal per interval, and nothing else.

Elsewhere each lock is a lease of its own, or is polled to find out whether it is still there.  A
watch tells when a record is deleted; only what was missed while it was interrupted is looked at.

P9: standing by costs nothing while nothing changes, however much is held.
"""
from conftest import pause, wait_until
from etcd import running_cluster
from field import library  # noqa: F401
from relay import Relay

TTL_S = 3
HELD = 40
STANDING = 1
HANDED = 20
TXNS = ('grpc_server_handled_total{grpc_code="OK",grpc_method="Txn",'
        'grpc_service="etcdserverpb.KV",grpc_type="unary"}')


def looks(cluster):
    """How often the store is looked at within three intervals, besides renewals."""
    before = cluster.counter(TXNS)
    pause(TTL_S)
    return cluster.counter(TXNS) - before


def test_nothing_but_renewals_is_sent_however_much_is_held(library):
    """The walk (src/lib/sweep.c) may come by once."""
    with running_cluster() as cluster:
        relay = Relay((cluster.address, cluster.members[0].client))
        program = library()
        url = f"etcd://127.0.0.1:{relay.port}/test"
        assert program.do("open", url, TTL_S * 1000, "h", "pump")[0] == 0
        for i in range(HELD):
            assert program.do("acquire", f"job{i}", 5000)[0] >= 0
        wait_until(lambda: looks(cluster) <= 1, "the rest")
        before = cluster.counter(TXNS)
        relay.cut()
        wait_until(lambda: cluster.counter(TXNS) - before >= HELD, "a look at each")
        wait_until(lambda: looks(cluster) <= 1, "the rest")
        assert program.do("check")[0] == STANDING
        relay.close()


def test_a_hand_over_is_two_commits_and_nothing_else(library):
    """One queues, and one releases and grants.  Who is rung is told with the bell that it holds,
    and who holds is told of who queues: neither looks, and no release is decided on an old record.

    P8: a hand-over costs a constant number of requests."""
    with running_cluster() as cluster:
        holder, waiter = library(), library()
        for program in holder, waiter:
            assert program.do("open", cluster.url("test"), 60000, "h", "pump")[0] == 0
        token = holder.number("acquire", "job", 5000)
        began = cluster.counter(TXNS)
        for _ in range(HANDED):
            before = cluster.counter(TXNS)
            waiter.say("acquire", "job", 20000)
            wait_until(lambda: cluster.counter(TXNS) > before, "one who queues")
            assert holder.do("release")[0] == 0
            code, text = waiter.hear()
            assert code == 0 and int(text) > token
            token = int(text)
            holder, waiter = waiter, holder
        assert cluster.counter(TXNS) - began < 2.5 * HANDED
