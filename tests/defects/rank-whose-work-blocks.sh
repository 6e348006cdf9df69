#!/usr/bin/env bash
# The working thread of one of three ranks stands still while its heart beats (it is held as a debugger would): the others' logs
# must name that rank within 10 s.
. "$(dirname "$0")/support.sh"
"$bin/troika" launch --nproc-per-node 3 -- train "${small[@]}" --pp 3 --steps 1000000 --out "$work/run" > "$work/run.txt" 2>&1 &
pid=$!
await 60 has_rows "$work/run" 50 || cannot "the run does not begin: $(last_line "$work/run.txt")"
blocked=$(sed -nE 's/.*rank 2 of 3 on .*, process ([0-9]+).*/\1/p' "$work/run/logs/rank-00002.log" | head -n 1)
[ -n "$blocked" ] || cannot "rank 2 does not say its process"
python3 - "$blocked" > "$work/held.txt" 2>&1 << 'PYTHON' &
import ctypes, sys, time
call = ctypes.CDLL(None, use_errno=True).ptrace
call.argtypes, call.restype = [ctypes.c_long] * 4, ctypes.c_long
seize, interrupt = 0x4206, 0x4207
assert call(seize, int(sys.argv[1]), 0, 0) == 0 and call(interrupt, int(sys.argv[1]), 0, 0) == 0
print('held', flush=True)
time.sleep(60)
PYTHON
await 5 holds held "$work/held.txt" || cannot "the thread cannot be held: $(last_line "$work/held.txt")"
begin=$(now)
named() { holds 'rank 2.*is behind|is behind.*rank 2' "$work/run/logs/rank-00000.log"; }
await 10 named || symptom "$(since "$begin") s after its work stood still nobody names rank 2"
passes
