#!/bin/sh
# tenure-pg.sh [lock|contend|elect|rest ...]: tenure's store in PostgreSQL, on the server that pg.sh measures.
. "$(dirname "$0")/lib.sh"
. "$BENCH/pg-server.inc"
BUILD=$(cd "${BUILD:-$BENCH/../build}" && pwd)
TENURE=$BUILD/src/cli/tenure
cc -O2 -Wall -Wextra -I"$BENCH/../include" -o "$BIN/tenure" "$BENCH/tenure.c" "$BUILD/src/lib/libtenure.so" -Wl,-rpath,"$BUILD/src/lib" -pthread
N=tenure-pg; k=0
fresh() { k=$((k + 1)); U="postgres://postgres@127.0.0.1:$P/postgres?schema=bench_$k"; "$TENURE" store init --store "$U" >/dev/null; psql -qX "$I" -c CHECKPOINT; }
if want lock; then start_pg; fresh; for c in 1 32; do L "$BIN/tenure" lock $N "$U" $c "$DUR"; done; L "$BIN/tenure" pipe $N "$U" 64 "$DUR"
    split "$S" "$BIN/tenure" lock $N "$U" 1 "$DUR"; stop_pg; fi
if want contend; then start_pg; for c in 2 16; do fresh; "$BIN/tenure" fight $N "$U" $c "$DUR"; done; fresh; HOLD_MS=150 "$BIN/tenure" fight $N "$U" 2 "$DUR"; stop_pg; fi
if want elect; then start_pg; fresh
    "$PY" "$BENCH/probe.py" elect $N elect/kill-command "$TRIALS" "$TENURE" lock --store "$U" elect -- sh -c 'echo LEADER; exec sleep 1000'
    HANG=1 LIMIT=30 "$PY" "$BENCH/probe.py" elect $N hang/ttl-1s 2 "$BIN/tenure" elect "$U" 1000; stop_pg; fi
if want rest; then start_pg; fresh; "$BIN/tenure" hold $N "$U" 1000 10; stop_pg; fi
