#!/usr/bin/env bash
# Two hosts with a heartbeat limit of 40 s lose their link for 15 s: the run must end well, and the launcher must hear Ctrl-C
# meanwhile.
. "$(dirname "$0")/support.sh"
is_root && command -v ip > /dev/null && command -v nsenter > /dev/null || cannot "network namespaces need root and iproute2"
holders=()
host_namespace() { # host_namespace NAME: keeps a namespace of network and host name; sets `holder`
  unshare --net --uts sh -c "hostname $1 && exec sleep 600" &
  holder=$!
  await 5 grep -qx sleep "/proc/$holder/comm" || cannot "no namespace"
  holders+=($holder)
}
host_namespace pi0
host_namespace pi1
inside() { # inside HOST COMMAND...
  local host=$1
  shift
  exec nsenter --target "${holders[$host]}" --net --uts -- "$@"
}
(inside 0 ip link add lan type veth peer name lan netns "${holders[1]}") || cannot "no link"
for host in 0 1; do
  (inside $host ip address add "10.78.0.$((host + 1))/24" dev lan) && (inside $host ip link set lan up) &&
    (inside $host ip link set lo up) || cannot "no addresses"
done
host() { # host NODE OUT
  inside "$1" "$bin/troika" launch --nnodes 2 --node-rank "$1" --master-addr 10.78.0.1 --master-port 29500 -- train "${small[@]}" \
    --pp 2 --steps 300 --out "$work/$2$1" --comm.heartbeat-seconds 40 --comm.timeout-seconds 120
}
both() { # both OUT: starts it
  host 0 "$1" > "$work/$1.zero.txt" 2>&1 &
  zero=$!
  host 1 "$1" > "$work/$1.one.txt" 2>&1 &
  one=$!
  await 30 has_rows "$work/${1}0" 3 || cannot "the run does not begin: $(last_line "$work/$1.zero.txt")"
}
both run
(inside 0 ip link set lan down)
down=$(now)
await 15 ended $one
(inside 0 ip link set lan up)
await 60 all_ended $zero $one || symptom "the run does not end any more"
code_of zero $zero
code_of one $one
[ "$zero $one" = "0 0" ] ||
  symptom "a link that was down for 15 s ends the run ($(since "$down") s; exit codes $zero, $one): $(last_line "$work/run.one.txt")"
both stop
(inside 0 ip link set lan down)
unanswered() { (inside 1 ss -Htn state established "( dport = :29500 )") | awk '$2 > 0 { held = 1 } END { exit !held }'; }
await 20 unanswered || cannot "the launcher of host 1 has sent nothing over the link that is down"
kill -INT $one
await 5 holds 'stopping after this step' "$work/stop.one.txt" || symptom "a launcher whose store does not answer is deaf to Ctrl-C"
sleep 0.5 # two within 0.3 s count as one
kill -INT $one
await 5 ended $one || symptom "a launcher whose store does not answer does not end at the second Ctrl-C"
passes
