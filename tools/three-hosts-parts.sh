# shellcheck shell=bash
# Three hosts in network namespaces, for the scripts that train on them (three-hosts.sh and tools/proofs).
# They source this file after they have set: root, bin (the folder with troika), rate (of every link, as tc has it), skew (by host, seconds
# that CLOCK_MONOTONIC is ahead of this machine's), and before a run: model (flags of every training).
#
# Needs root (for namespaces), iproute2 with tc, util-linux 2.38 and jq. A host is a network, host name and time namespace
# with a folder of its own, $work/hostN; a fourth namespace is the router, a bridge. They have no names in the system, so
# several scripts may run at once, and they vanish with their last process, whatever becomes of the script. With spaces+=(--mount)
# the hosts also know each other, and the router, by name (name_hosts).
export LC_ALL=C OMP_NUM_THREADS=1
unset BATCH_SIZE MICROBATCH_NUM

port=29500
address=(10.77.0.1 10.77.0.2 10.77.0.3)

die() {
  echo "$(basename "$0" .sh): $1" >&2
  exit 2
}
[ "$(id -u)" = 0 ] || die "namespaces need root; run it with sudo"
for tool in ip tc jq unshare nsenter; do
  command -v "$tool" > /dev/null || die "$tool is missing; install iproute2, util-linux and jq"
done
[ -x "$bin/troika" ] || die "'$bin' holds no troika; build it first"

is_rank() { # is_rank PID: whether that process is a rank
  tr '\0' ' ' < "/proc/$1/cmdline" 2> /dev/null | grep -qE '^[^ ]*troika train '
}

work=$(mktemp -d "${TMPDIR:-/tmp}/troika-$(basename "$0" .sh)-XXXXXX")
holder=() # per host, the process that keeps its namespaces; 3 is the router
keeper=() # and its parent
launcher=()
niceness=0 # of the processes on the hosts
group=() # per host, the folder of a control group that its processes join; unset: none
failures=0
[ -n "${spaces:-}" ] || spaces=(--net --uts) # what a host has of its own, beside a clock
lifetime=${lifetime:-900}                    # seconds after which the namespaces vanish in any case

# --- checks ---------------------------------------------------------------------------------------------------------

check() { # check TEXT COMMAND...
  local text=$1
  shift
  if "$@"; then
    echo "ok    $text"
  else
    echo "FAIL  $text"
    failures=$((failures + 1))
  fi
}
say() { sed 's/^/      | /'; }
now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }
within() { awk -v low="$1" -v x="$2" -v high="$3" 'BEGIN { exit !(x != "" && x >= low && x <= high) }'; }
holds() { grep -qE -e "$1" "$2"; } # holds PATTERN FILE

# --- hosts ----------------------------------------------------------------------------------------------------------

inside() { # the processes of a host, without those that keep it
  local net entry pid
  net=$(readlink "/proc/${holder[$1]}/ns/net") || return 0
  for entry in /proc/[0-9]*/ns/net; do
    [ "$(readlink "$entry" 2> /dev/null)" = "$net" ] || continue
    pid=${entry#/proc/}
    pid=${pid%%/*}
    [ "$pid" = "${holder[$1]}" ] || [ "$pid" = "${keeper[$1]}" ] || echo "$pid"
  done
}

clean_up() {
  local node
  trap - EXIT
  exec 2> /dev/null # the shell's own notes about killed jobs
  for node in "${!holder[@]}"; do
    inside "$node" | xargs -r kill -9
    kill -9 "${holder[$node]}"
  done
  for node in "${!group[@]}"; do
    for _ in $(seq 50); do # until its last process is gone
      rmdir "${group[$node]}" && break
      sleep 0.1
    done
  done
  rm -rf "$work"
}
trap 'clean_up' EXIT
trap 'exit 130' INT TERM HUP

hold() { # hold NODE FLAGS...: namespaces that live as long as a sleeping process
  local node=$1
  shift
  unshare "${spaces[@]}" "$@" --fork sh -c 'echo $$ $PPID > "$1.new" && mv "$1.new" "$1" && exec sleep "$2"' hold "$work/holder$node" "$lifetime" 2> "$work/holder$node.error" &
  disown
  for _ in $(seq 100); do
    [ -s "$work/holder$node" ] && break
    sleep 0.05
  done
  [ -s "$work/holder$node" ] || die "cannot make namespaces: $(cat "$work/holder$node.error")"
  read -r "holder[node]" "keeper[node]" < "$work/holder$node"
}
net() { # net NODE COMMAND...
  local node=$1
  shift
  nsenter --target "${holder[$node]}" "${spaces[@]}" --wdns="$PWD" -- "$@"
}
shape() { net "$1" tc qdisc replace dev "$2" root tbf rate "$rate" burst 16kb latency 200ms; }
shape_all() { # with the rate of now
  local node
  for node in 0 1 2; do
    shape $node lan
    shape 3 "port$node"
  done
}

make_hosts() {
  set -e
  hold 3
  net 3 ip link add switch type bridge
  net 3 ip link set switch up
  for node in 0 1 2; do
    hold $node --time --monotonic "${skew[$node]}" --boottime "${skew[$node]}"
    net $node hostname "pi$node"
    net $node ip link add lan type veth peer name "port$node" netns "${holder[3]}"
    net 3 ip link set "port$node" master switch up
    net $node ip address add "${address[$node]}/24" dev lan
    net $node ip link set lan up
    net $node ip link set lo up
    mkdir "$work/host$node"
    head -c 8000 "$root/LICENSE" > "$work/host$node/corpus.txt"
  done
  shape_all
  set +e
}

name_hosts() { # the names of all in each one's /etc/hosts, instead of this machine's
  local node
  net 3 ip address add 10.77.0.4/24 dev switch
  net 3 ip link set lo up
  net 3 hostname head
  { echo '127.0.0.1 localhost' && for node in 0 1 2; do echo "${address[$node]} pi$node"; done && echo '10.77.0.4 head'; } > "$work/hosts"
  for node in 0 1 2 3; do net $node mount --bind "$work/hosts" /etc/hosts || die "cannot mount over /etc/hosts of a host"; done
}

on_host() { # on_host NODE LOG ARGUMENTS...: troika, as a person starts it on that host
  local node=$1 log=$2
  shift 2
  (
    cd "$work/host$node" || exit 2
    [ -z "${group[$node]:-}" ] || echo $BASHPID > "${group[$node]}/cgroup.procs"
    export XDG_CONFIG_HOME=$work/host$node/config # what is known of machines is each host's own
    exec nice -n "$niceness" nsenter --target "${holder[$node]}" "${spaces[@]}" --time --wdns="$PWD" -- "$bin/troika" "$@"
  ) > "$work/host$node/$log.text" 2>&1 &
  launcher[node]=$!
}
launch_on() { # launch_on NODE LOG ARGUMENTS...: what a launcher there starts
  local node=$1 log=$2
  shift 2
  on_host "$node" "$log" launch --nnodes 3 --node-rank "$node" --master-addr "${address[0]}" --master-port $port \
    --nproc-per-node 1 -- "$@"
}
start() { # start NODE OUT FLAGS...
  local node=$1 out=$2
  shift 2
  # shellcheck disable=SC2086
  launch_on "$node" "$out" train $model --out "$out" "$@"
}
alone() { # alone NODE FOLDER ARGUMENTS...: one process on that host, in that working folder
  local node=$1 folder=$2
  shift 2
  (export XDG_CONFIG_HOME=$work/host$node/config && cd "$folder" && exec nsenter --target "${holder[$node]}" "${spaces[@]}" --time --wdns="$PWD" -- "$bin/troika" "$@")
}
start_all() { # in an order as good as any
  start 2 "$@"
  sleep 0.4
  start 0 "$@"
  sleep 0.4
  start 1 "$@"
}
all_run() {
  local node
  for node in 0 1 2; do kill -0 "${launcher[$node]}" 2> /dev/null || return 1; done
}
finish_all() { # finish_all SECONDS: waits at most that long; sets `codes` ("0 0 0", or "late") and `took` per host
  local node begin end=$((SECONDS + $1)) left="0 1 2" still
  local code=(late late late) seconds=(- - -)
  begin=$(now)
  while [ -n "$left" ] && [ $SECONDS -lt $end ]; do
    still=""
    for node in $left; do
      if kill -0 "${launcher[$node]}" 2> /dev/null; then
        still="$still $node"
        continue
      fi
      wait "${launcher[$node]}" 2> /dev/null
      code[node]=$?
      seconds[node]=$(since "$begin")
    done
    left=$still
    sleep 0.1
  done
  for node in $left; do
    kill -9 "${launcher[$node]}"
    wait "${launcher[$node]}" 2> /dev/null
  done
  codes="${code[*]}" took="${seconds[*]}"
}
rows() { cat "$work/host0/$1/metrics.jsonl" 2> /dev/null | wc -l; }
await_rows() { # await_rows OUT COUNT
  for _ in $(seq 600); do
    [ "$(rows "$1")" -ge "$2" ] && return 0
    all_run || return 1
    sleep 0.1
  done
  return 1
}
nobody_left() {
  local node
  for node in 0 1 2; do [ -z "$(inside $node)" ] || return 1; done
}
show() { # show OUT: what the hosts said
  local node
  for node in 0 1 2; do
    echo "      host $node said:"
    tail -n 15 "$work/host$node/$1.text" | say
  done
}
done_well() { # done_well TEXT OUT
  check "$1 (exit codes $codes)" [ "$codes" = "0 0 0" ]
  [ "$codes" = "0 0 0" ] || show "$2"
}
all_within() { # all_within SECONDS
  awk -v took="$took" -v high="$1" 'BEGIN { split(took, t, " "); for (i in t) if (t[i] == "-" || t[i] + 0 > high + 0) exit 1 }'
}
all_failed() { ! grep -qwE '0|late' <<< "$codes"; }
