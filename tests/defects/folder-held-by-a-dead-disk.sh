#!/usr/bin/env bash
# A rank that has locked its run folder waits for a disk that never answers, and not even SIGKILL ends it. The run that is started
# again must name host and process within 15 s, and say that only the disk or a restart of the host frees the folder.
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
train() { exec "$bin/troika" train "${small[@]}" --steps 3 --out "$work/run" "$@"; }
train --data.train "$work/disk/file" > "$work/first.txt" 2>&1 &
first=$!
locked() { [ -s "$work/run/run.lock" ]; }
asks_the_disk() { grep -qs fuse /proc/$first/task/*/wchan || grep -qs request_wait_answer /proc/$first/task/*/stack; }
waits() { cat /proc/$first/task/*/stat 2> /dev/null | sed 's/.*) //' | grep -q '^D'; }
await 20 locked || cannot "the first run does not lock its folder: $(last_line "$work/first.txt")"
await 20 asks_the_disk || cannot "the first run does not open its data: $(last_line "$work/first.txt")"
kill -9 $first
await 3 waits || cannot "the first run could be killed"
(train) > "$work/second.txt" 2>&1 &
second=$!
await 15 ended $second || symptom "the second run neither works nor ends"
holds "process $first on host $(hostname)" "$work/second.txt" ||
  symptom "the second run does not name host and process of the first: $(last_line "$work/second.txt")"
holds "cannot be ended until that responds" "$work/second.txt" ||
  symptom "the second run does not say what frees the folder: $(last_line "$work/second.txt")"
passes
