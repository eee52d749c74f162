#!/bin/sh
# tenure-pg.sh [lock|contend|elect|gone|rest ...]: tenure's store in PostgreSQL, on the server that pg.sh measures.
. "$(dirname "$0")/lib.sh"
. "$BENCH/pg-server.inc"
BUILD=$(cd "${BUILD:-$BENCH/../build}" && pwd)
TENURE=$BUILD/src/cli/tenure
cc -O2 -Wall -Wextra -I"$BENCH/../include" -o "$BIN/tenure" "$BENCH/tenure.c" "$BUILD/src/lib/libtenure.so" -Wl,-rpath,"$BUILD/src/lib" -pthread
N=tenure-pg; k=0
fresh() { k=$((k + 1)); U="postgres://postgres@127.0.0.1:$P/postgres?schema=bench_$k"; "$TENURE" store init --store "$U" >/dev/null; psql -qX "$I" -c CHECKPOINT; }
# $N waits for the answer to each release, $N-leave lets it go with the next question
if want lock; then start_pg; fresh
    locks() { for c in 1 32; do L "$BIN/tenure" lock $1 "$U" $c "$DUR"; done; L "$BIN/tenure" pipe $1 "$U" 64 "$DUR"; split "$S" "$BIN/tenure" lock $1 "$U" 1 "$DUR"; }
    locks $N; export LEAVE=1; locks $N-leave; unset LEAVE; stop_pg; fi
if want contend; then start_pg
    fights() { for c in 2 16; do fresh; "$BIN/tenure" fight $1 "$U" $c "$DUR"; done; }
    fights $N; fresh; HOLD_MS=150 "$BIN/tenure" fight $N "$U" 2 "$DUR"; export LEAVE=1; fights $N-leave; unset LEAVE; stop_pg; fi
if want elect; then start_pg; fresh
    elect_command $N "$U"
    HANG=1 LIMIT=30 "$PY" "$BENCH/probe.py" elect $N hang/ttl-1s 2 "$BIN/tenure" elect "$U" 1000; stop_pg; fi
if want gone; then host_up; start_pg -c listen_addresses=127.0.0.1,$HOST; echo 'host all all 10.79.0.0/24 trust' >>"$DATA/p/d/pg_hba.conf"; psql -qX "$I" -c 'SELECT pg_reload_conf()' >/dev/null; fresh
    "$PY" "$BENCH/probe.py" gone $N gone/ttl-2s "$TRIALS" "$THERE $BIN/tenure elect '$(echo "$U" | sed "s/127.0.0.1/$HOST/")' 2000" "$BIN/tenure elect '$U' 2000"
    stop_pg; host_down; fi
if want rest; then start_pg -c track_functions=all; fresh; spawn "$BIN/tenure" hold $N "$U" 1000 20
    until grep -q held/1000 "$DATA/log"; do sleep 1; done # all are held, and it rests for 20 s
    calls() { psql -qXAt "$I" -c "SELECT sum(calls) FROM pg_stat_user_functions WHERE schemaname = 'bench_$k' AND funcname IN ('apply', 'session_renew', 'poll', 'ring')"; }
    a=$(calls); rest_rows $N rest/1000 $P "$S" 10; sleep 1; row $N rest/1000 statements/s "$(awk "BEGIN{print ($(calls)-$a)/11}")"; stop_pg; fi
