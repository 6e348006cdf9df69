#!/usr/bin/env bash
# The store of a launch on one host must listen on the loopback alone, and strangers' frames must not fill its memory.
. "$(dirname "$0")/support.sh"
port=$(free_port)
"$bin/troika" launch --nproc-per-node 1 --master-port "$port" --program /bin/sleep -- 60 > "$work/launch.txt" 2>&1 &
launcher=$!
await 20 listens "$port" || cannot "the launcher does not listen: $(last_line "$work/launch.txt")"
address=$(ss -Htln "( sport = :$port )" | awk '{ print $4 }')
case $address in
  127.* | '[::1]'*) ;;
  *) symptom "the store of a launch on one host listens on $address" ;;
esac
# Sixteen strangers who say nothing but that 63 MiB come, and send them.
greeting=$(strings -n 8 "$bin/troika" | grep -oE 'TROIKAc[0-9]' | head -n 1)
for _ in $(seq 16); do
  (
    exec 3<> "/dev/tcp/127.0.0.1/$port"
    { printf '%s' "$greeting" && printf '\000\000\360\003' && head -c $((63 << 20)) /dev/zero; } >&3
    sleep 5
  ) 2> /dev/null &
done
most=0
for _ in $(seq 40); do
  resident=$(awk '/^VmRSS/ { print $2 }' "/proc/$launcher/status")
  [ "$resident" -gt $most ] && most=$resident
  [ $most -gt 102400 ] && symptom "sixteen strangers make the launcher take $((most / 1024)) MiB"
  sleep 0.1
done
passes
