#!/usr/bin/env bash
# `troika launch --hosts` over the ssh of OpenSSH, to three hosts that share nothing, on 100 Mbit/s links: started from a fourth
# machine and from host 0, stopped, cut off, killed. One line per check; fails when one does. Two minutes.
#
#   tools/proofs/ssh.sh [FOLDER_WITH_TROIKA]     (default: build/release)
#
# Needs root (for namespaces), iproute2 with tc, util-linux 2.38, jq, openssh-client and Debian's archive: its openssh-server is
# unpacked, not installed.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
rate=100mbit
skew=(0 0 0)
. "$root/tools/three-hosts-parts.sh"
desk=10.77.0.9
hosts=$(IFS=, && echo "${address[*]}")
model="--model.layers 6 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192
  --model.vocab 259 --seq-len 64 --seed 7 --train.threads 1 --data.train corpus.txt --data.tokenizer bytes --batch_size 12
  --microbatch_num 3 --pp 3"

# --- machines that log in to each other -------------------------------------------------------------------------------

unpack_sshd() {
  local unpacked=$work/sshd name
  mkdir -p "$unpacked" "$work/run" "$work/desk" "$work/home/.ssh"
  (
    cd "$unpacked" || exit 2
    apt-get -qq -o APT::Sandbox::User=root download openssh-server libwrap0 2> /dev/null
    for name in *.deb; do dpkg-deb -x "$name" .; done
  )
  [ -x "$unpacked/usr/sbin/sshd" ] || die "cannot get openssh-server from Debian's archive"
  grep -v '^\(root\|sshd\):' /etc/passwd > "$work/passwd"
  echo "root:x:0:0:root:$work/home:/bin/bash" >> "$work/passwd"
  echo "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin" >> "$work/passwd"
  ssh-keygen -q -t ed25519 -N '' -f "$work/home/.ssh/id_ed25519"
  ssh-keygen -q -t ed25519 -N '' -f "$work/host_key"
  cp "$work/home/.ssh/id_ed25519.pub" "$work/home/.ssh/authorized_keys"
  printf '* %s\n' "$(cut -d ' ' -f 1,2 "$work/host_key.pub")" > "$work/home/.ssh/known_hosts"
  chmod 700 "$work/home" "$work/home/.ssh"
  printf '%s\n' "HostKey $work/host_key" "StrictModes no" "UsePAM no" "PidFile none" "PermitRootLogin yes" \
    "AuthorizedKeysFile $work/home/.ssh/authorized_keys" > "$work/sshd_config"
}

# A shell command in the network of a node with its folder at $work/run and the users of unpack_sshd; own namespaces of mounts.
machine() { # machine NODE FOLDER COMMAND
  local clock=--time
  [ "$1" != 3 ] || clock=
  # shellcheck disable=SC2086
  exec nsenter --target "${holder[$1]}" --net --uts $clock -- unshare --mount bash -c '
    mount --make-rprivate / && mount --bind "$2" "$1/run" && mount --bind "$1/passwd" /etc/passwd && mount -t tmpfs none /run &&
      mkdir /run/sshd && export XDG_CONFIG_HOME="$2/config" HOME="$1/home" && cd "$1/run" && eval "$3"' machine "$work" "$2" "$3"
}
start_sshd() { # start_sshd NODE
  machine "$1" "$work/host$1" "LD_LIBRARY_PATH='$work/sshd/lib/x86_64-linux-gnu:$work/sshd/usr/lib/x86_64-linux-gnu' exec '$work/sshd/usr/sbin/sshd' -D -e -f '$work/sshd_config'" > "$work/sshd$1.log" 2>&1 &
}
from() { # from NODE NAME ARGUMENTS...: a launch there, in the background; `launch` is its process
  local node=$1 name=$2 folder=$work/desk
  shift 2
  [ "$node" = 3 ] || folder=$work/host$node
  (machine "$node" "$folder" "exec '$bin/troika' launch $*") > "$work/$name.text" 2>&1 &
  launch=$!
}
troikas() { # the processes of runs on the three hosts
  local node pid
  for node in 0 1 2; do
    for pid in $(inside "$node"); do
      grep -qs '^troika' "/proc/$pid/comm" && echo "$pid"
    done
  done
}
nobody_trains() { [ -z "$(troikas)" ]; }
await_nobody() { # await_nobody SECONDS
  local end=$((SECONDS + $1))
  while [ $SECONDS -lt $end ]; do
    nobody_trains && return 0
    sleep 0.2
  done
  return 1
}
ended() { # ended SECONDS: waits for `launch`; sets code
  local end=$((SECONDS + $1))
  code=late
  while [ $SECONDS -lt $end ]; do
    if ! kill -0 "$launch" 2> /dev/null; then
      wait "$launch"
      code=$?
      return
    fi
    sleep 0.1
  done
  kill -9 "$launch"
}
signal_launch() { # to troika itself: its parents are those that made the namespaces
  kill -s "$1" "$launch"
}
await_step() { # await_step OUT ROWS
  for _ in $(seq 300); do
    [ "$(rows "$1")" -ge "$2" ] && return 0
    sleep 0.1
  done
  cat "$work/$1.text"
  return 1
}
bits() { grep -o '"loss_bits": "[0-9a-f]*"' "$1/metrics.jsonl" | head -n "$2"; }
same_bits() { # same_bits OUT ROWS
  [ "$(bits "$work/host0/$1" "$2")" = "$(bits "$work/host0/alone" "$2")" ] && [ "$(rows "$1")" -ge "$2" ]
}
saved() { # saved OUT: every host has its part of the newest checkpoint
  local node
  for node in 0 1 2; do [ -n "$(find "$work/host$node/$1/checkpoints" -name '*.safetensors' 2> /dev/null)" ] || return 1; done
}
train() { echo "--hosts $hosts -- train $(echo $model) --out $*"; }
said() { check "$1" holds "$2" "$work/$3.text"; }

# --- the runs ---------------------------------------------------------------------------------------------------------

goes_well() {
  (machine 0 "$work/host0" "exec '$bin/troika' launch --nproc-per-node 3 -- train $(echo $model) --out alone --train_steps 100") > "$work/alone.text" 2>&1
  from 3 well "$(train well --train_steps 100)"
  ended 60
  check "three hosts are started from a fourth machine and end well (exit code $code)" [ "$code" = 0 ]
  [ "$code" = 0 ] || say < "$work/well.text"
  check "with the bits of three processes on one host in all 100 steps" same_bits well 100
  said "it says where the hosts meet" "3 hosts meet at ${address[0]}:29500" well
  check "nothing is left running" nobody_trains
  from 0 own "--hosts localhost,${address[1]},${address[2]} -- train $(echo $model) --out own --train_steps 100"
  ended 60
  check "from host 0 itself, as localhost (exit code $code)" [ "$code" = 0 ]
  check "the same bits" same_bits own 100
  from 3 doctor "--hosts $hosts -- doctor --quick"
  ended 60
  check "a doctor of the three hosts (exit code $code)" [ "$code" = 0 ]
  said "tells of all three" '^3 hosts looked at' doctor
}

stops() {
  from 3 stopped "$(train stopped --train_steps 100)"
  await_step stopped 5
  signal_launch INT
  ended 20
  check "Ctrl-C ends it with 130 ($code)" [ "$code" = 130 ]
  check "every host has saved" saved stopped
  check "nothing is left running" nobody_trains
  from 3 stopped2 "$(train stopped --train_steps 100)"
  ended 90
  check "it resumes to the same bits in all 100 steps (exit code $code)" same_bits stopped 100
  from 3 twice "$(train twice --train_steps 2000)"
  await_step twice 5
  signal_launch TERM
  sleep 0.4
  signal_launch TERM
  ended 10
  check "asked twice, it ends ($code)" [ "$code" = 130 ]
  check "nothing is left running" await_nobody 2
}

is_cut_off() {
  from 3 killed "$(train killed --train_steps 2000)"
  await_step killed 5
  signal_launch KILL
  check "the launch is killed: all hosts stop" await_nobody 15
  check "and have saved" saved killed
  from 3 sshd "$(train sshd --train_steps 2000)"
  await_step sshd 5
  for pid in $(inside 1); do # the connection's own process, not the one that listens
    grep -qs '^sshd' "/proc/$pid/comm" && ! tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q -e '-D' && kill -9 "$pid"
  done
  ended 40
  check "the sshd of host 1's connection is killed: exit code 75 ($code)" [ "$code" = 75 ]
  said "named" 'host 1 .*ssh exited before the launcher there' sshd
  check "nothing is left running" await_nobody 15
  check "all have saved" saved sshd
  from 3 rank "$(train rank --train_steps 2000)"
  await_step rank 5
  for pid in $(inside 2); do is_rank "$pid" && kill -9 "$pid"; done
  ended 40
  check "a killed rank ends all hosts with 75 ($code)" [ "$code" = 75 ]
  said "named" 'rank 2 \(host pi2, pid [0-9]+\) was killed by signal 9' rank
  check "nothing is left running" await_nobody 15
}

loses_its_network() {
  local begin
  from 3 cut "$(train cut --train_steps 100000)"
  await_step cut 5
  net 3 ip address del "$desk/24" dev switch
  begin=$(now)
  ended 40
  check "the fourth machine's network is cut: it ends with 75 ($code) after $(since "$begin") s" [ "$code" = 75 ]
  check "the hosts stop" await_nobody 75
  echo "      after $(since "$begin") s"
  check "and have saved" saved cut
  net 3 ip address add "$desk/24" dev switch
}

refuses() {
  from 3 nowhere "--hosts ${address[0]},10.77.0.77,${address[1]} --remote-folder /nowhere -- train x"
  ended 30
  check "a host that nobody has and a folder that is not there: exit code 75 ($code)" [ "$code" = 75 ]
  said "named" 'host 1 \(10.77.0.77\): ssh: connect to host' nowhere
  said "both" 'host 0 .*cd: /nowhere' nowhere
  sed -i 's/^ssh-ed25519/# &/' "$work/home/.ssh/authorized_keys"
  from 3 key "--hosts $hosts -- train x"
  ended 30
  check "no key: exit code 75 ($code)" [ "$code" = 75 ]
  said "named" 'Permission denied .*must work without a password' key
  sed -i 's/^# //' "$work/home/.ssh/authorized_keys"
  from 3 program "--hosts $hosts --remote-program /usr/bin/nothing -- train x"
  ended 30
  check "no troika there: exit code 2 ($code)" [ "$code" = 2 ]
  said "named with the flag" 'nothing: No such file.*--remote-program' program
}

make_hosts
net 3 ip address add "$desk/24" dev switch
net 3 ip link set lo up
unpack_sshd
for node in 0 1 2; do start_sshd $node; done
sleep 1
goes_well
stops
is_cut_off
loses_its_network
refuses
echo "$failures failed"
[ "$failures" = 0 ]
