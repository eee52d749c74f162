#!/bin/sh
# tenure-etcd.sh [lock|contend|elect|gone|rest ...]: tenure on an etcd of one and of three nodes, set up as for etcd.sh.
# BUILD names the build directory (default: ../build), whose tenure and libtenure are measured.
. "$(dirname "$0")/lib.sh"
. "$BENCH/cluster.inc"
BUILD=$(cd "${BUILD:-$BENCH/../build}" && pwd)
TENURE=$BUILD/src/cli/tenure
cc -O2 -Wall -Wextra -I"$BENCH/../include" -o "$BIN/tenure" "$BENCH/tenure.c" "$BUILD/src/lib/libtenure.so" -Wl,-rpath,"$BUILD/src/lib" -pthread
# tenure-etcd-N waits for the answer to each release, tenure-etcd-N-leave lets it go with the next question
locks() { for c in 1 32; do L "$BIN/tenure" lock $1 "$U" $c "$DUR"; done; L "$BIN/tenure" pipe $1 "$U" 64 "$DUR"; split "$NODES" "$BIN/tenure" lock $1 "$U" 1 "$DUR"; }
fights() { for c in 2 16; do "$BIN/tenure" fight $1 "$U" $c "$DUR"; done; }
if want lock; then for n in 1 3; do up $n; U=etcd://$E
    locks tenure-etcd-$n; export LEAVE=1; locks tenure-etcd-$n-leave; unset LEAVE; down; done; fi
if want contend; then for n in 1 3; do up $n; U=etcd://$E
    fights tenure-etcd-$n; HOLD_MS=150 "$BIN/tenure" fight tenure-etcd-$n "$U" 2 "$DUR"
    export LEAVE=1; fights tenure-etcd-$n-leave; unset LEAVE; down; done; fi
if want elect; then up 1; U=etcd://$E
    LIMIT=30 "$PY" "$BENCH/probe.py" elect tenure-etcd-1 elect/min-2s "$TRIALS" "$BIN/tenure" elect "$U" 2000
    elect_command tenure-etcd-1 "$U"
    HANG=1 LIMIT=30 "$PY" "$BENCH/probe.py" elect tenure-etcd-1 hang/min-2s 2 "$BIN/tenure" elect "$U" 2000
    down; fi
if want gone; then host_up; up 1
    "$PY" "$BENCH/probe.py" gone tenure-etcd-1 gone/ttl-2s "$TRIALS" "$THERE $BIN/tenure elect etcd://$HOST:12371 2000" "$BIN/tenure elect etcd://$E 2000"
    down; host_down; fi
if want rest; then up 1; S=$LAST; U=etcd://$E
    spawn "$BIN/tenure" hold tenure-etcd-1 "$U" 1000 20
    until grep -q held/1000 "$DATA/log"; do sleep 1; done # all are held, and it rests for 20 s
    rest_rows tenure-etcd-1 rest/1000-ttl10-shared 12371 "$S" 10; down; fi
