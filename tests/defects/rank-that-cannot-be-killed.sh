#!/usr/bin/env bash
# A rank waits for a disk that never answers, so that not even SIGKILL ends it, and another rank fails: the launcher must say why and
# end within 15 s, and name the process that it leaves.
. "$(dirname "$0")/support.sh"
is_root && [ -c /dev/fuse ] || cannot "a FUSE mount needs root and /dev/fuse"
cc -o "$work/dead_disk" "$here/dead_disk.c" || cannot "no C compiler"
mkdir "$work/disk"
"$work/dead_disk" "$work/disk" > "$work/disk.txt" 2>&1 &
disk=$!
at_exit() {
  kill -9 $disk 2> /dev/null
  umount -l "$work/disk" 2> /dev/null
}
await 10 holds ready "$work/disk.txt" || cannot "no FUSE mount: $(last_line "$work/disk.txt")"
"$bin/troika" launch --nproc-per-node 2 --program /bin/sh --log-dir "$work" -- -c "
  [ \$RANK = 1 ] && { echo \$\$ > '$work/pid'; exec cat '$work/disk/file'; }
  while [ ! -e '$work/go' ]; do sleep 0.05; done; echo the reason; exit 3" > "$work/launch.txt" 2>&1 &
launcher=$!
blocked() { [ -s "$work/pid" ] && grep -q fuse "/proc/$(cat "$work/pid")/stack" "/proc/$(cat "$work/pid")/wchan" 2> /dev/null; }
await 10 blocked || await 3 false || [ -s "$work/pid" ] || cannot "the rank does not read"
begin=$(now)
touch "$work/go"
await 20 ended $launcher || symptom "$(since "$begin") s after a rank failed the launcher still waits for one that cannot be killed"
[ "$(awk '{ print $3 }' "/proc/$(cat "$work/pid")/stat")" = D ] || cannot "the rank could be killed"
took=$(since "$begin")
code_of code $launcher
[ "$code" = 3 ] || symptom "the launcher does not end with the code of the rank that failed"
awk -v t="$took" 'BEGIN { exit !(t <= 15) }' || symptom "the launcher ends only after $took s"
holds "pid $(cat "$work/pid")" "$work/launch.txt" || symptom "the launcher does not name the process: $(last_line "$work/launch.txt")"
passes
