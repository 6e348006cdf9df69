#!/usr/bin/env bash
# Makes what troika doctor looks for, one fault after another, and checks that each is named by its check and nothing else is alarmed;
# and that hosts that are well give no alarm. Prints a table; fails when a row does. About 6 minutes.
#
#   tools/proofs/doctor.sh [FOLDER_WITH_TROIKA] [PART_OF_A_NAME]     (default: build/release, all rows)
#
# Hosts are network, host name and mount namespaces (three-hosts-parts.sh); a stand-in for ssh in PATH enters them. A fault is a namespace,
# a control group, a limit, a mount, a file system, or a made-up tree mounted over a part of /proc or /sys where the machine has no such
# device; two are a library that is loaded before others (a clock that is off, a slow disk). By hand: needs root, iproute2 with tc,
# util-linux 2.38, jq, gcc, python3, mkfs.ext4 and nftables.
# shellcheck disable=SC2154  # variables of three-hosts-parts.sh
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
only=${2:-}
rate=200mbit
skew=(0 0 0)
. "$root/tools/three-hosts-parts.sh"
for tool in gcc python3 mkfs.ext4 nft; do command -v $tool > /dev/null || die "$tool is missing"; done

group_of() { # group_of CONTROLLER: the folder of this process's control group of version 1
  echo "/sys/fs/cgroup/$1$(sed -nE "s/^[0-9]+:([a-z_,]*,)?$1(,[a-z_,]*)?:(.*)/\3/p" /proc/self/cgroup)"
}

# --- the stand-ins ---------------------------------------------------------------------------------------------------

prepare() {
  local node
  make_hosts
  mkdir "$work/bin" "$work/cgroups" "$work/disk"
  for node in 0 1 2; do echo "${holder[$node]}" > "$work/pid.pi$node"; done
  cat > "$work/loaded.c" << 'C'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static double number(const char* name) { const char* text = getenv(name); return text ? atof(text) : 0; }
int fdatasync(int file) {
  usleep((useconds_t)(1e6 * number("PROOF_SYNC_SECONDS")));
  return (int)syscall(SYS_fdatasync, file);
}
int clock_gettime(clockid_t clock, struct timespec* time) {
  const int code = (int)syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += (time_t)number("PROOF_CLOCK_SECONDS");
  return code;
}
C
  gcc -shared -fPIC -O1 -o "$work/loaded.so" "$work/loaded.c" || die "cannot compile the library of the slow disk"
  # In a mount namespace of its own: /sys of the network namespace, with the control groups, then this host's fault.
  cat > "$work/enter.sh" << SH
work='$work'
mount --rbind /sys/fs/cgroup "\$work/cgroups" && mount -t sysfs sysfs /sys && mount --rbind "\$work/cgroups" /sys/fs/cgroup || exit 90
made() { # made FOLDER: an empty tree in its place
  mount -t tmpfs made "\$1"
}
put() { # put FILE TEXT
  mkdir -p "\$(dirname "\$1")" && echo "\$2" > "\$1"
}
over() { # over FILE TEXT: another content in its place
  local copy="\$work/over.\$\$.\$(echo "\$1" | tr / _)"
  echo "\$2" > "\$copy" && mount --bind "\$copy" "\$1"
}
net_tree() { # net_tree: what /sys says of the links, to be changed
  local name
  mkdir -p "\$work/net.\$\$"
  for name in /sys/class/net/*; do
    name=\${name##*/}
    mkdir -p "\$work/net.\$\$/\$name/statistics"
    for file in mtu operstate carrier_changes speed duplex statistics/rx_errors statistics/tx_errors; do
      cat "/sys/class/net/\$name/\$file" > "\$work/net.\$\$/\$name/\$file" 2> /dev/null
    done
  done
  mount --bind "\$work/net.\$\$" /sys/class/net
  tree=\$work/net.\$\$
}
[ ! -e "\$work/fault.\$(hostname)" ] || . "\$work/fault.\$(hostname)"
SH
  cat > "$work/bin/ssh" << SH
#!/bin/sh
while case \$1 in -*) true ;; *) false ;; esac do shift 2; done
host=\$1
shift
[ ! -e "$work/stop.\$host" ] || kill -STOP \$\$
exec nsenter --target "\$(cat "$work/pid.\$host")" --net --uts -- unshare --mount --propagation private \\
  sh -c '. "$work/enter.sh"; exec sh -c "exec \$1"' sh "\$*"
SH
  chmod +x "$work/bin/ssh"
  printf 'pi0\npi1\npi2\n' > "$work/hosts"
}

fault() { # fault NODE SHELL: what is done on that host before its doctor starts
  printf '%s\n' "$2" > "$work/fault.pi$1"
}
hosts() { # hosts ARGUMENTS...: the doctor of all three
  PATH=$work/bin:$PATH "$bin/troika" doctor --hosts "$work/hosts" --json --out "$work/disk" "$@" > "$work/found.json" 2> "$work/error"
  code=$?
}
one() { # one ARGUMENTS...: of host 0 alone
  nsenter --target "${holder[0]}" --net --uts -- unshare --mount --propagation private \
    sh -c '. "$1/enter.sh"; shift; exec "$@"' sh "$work" "$bin/troika" doctor --json "$@" > "$work/found.json" 2> "$work/error"
  code=$?
}

# --- the table -------------------------------------------------------------------------------------------------------

rows=0
named=0
silent_rows=0
wanted() { [ -z "$only" ] || [[ $1 == *$only* ]]; }
# shellcheck disable=SC2016
alarms='[.[] | select(.status == "warn" or .status == "fail")]'
row() { # row TEXT CHECK HOSTS CODE [OTHER_CHECKS]: the alarm that is expected; other checks, by a pattern, that the same fault alarms
  local text=$1 check=$2 host=$3 want=$4 others=${5:-none} found rest verdict=ok
  found=$(jq -r --arg check "$check" --arg host "$host" \
    "$alarms | map(select(.check == \$check and (.host | test(\"^\" + \$host + \"\$\")))) | .[0] | \"\(.status) \(.measured)\"" "$work/found.json" 2> /dev/null)
  rest=$(jq -r --arg check "$check" --arg others "^($others)\$" \
    "$alarms | map(select(.check != \$check and (.check | test(\$others) | not))) | map(.host + \" \" + .check + \": \" + .measured) | join(\"; \")" "$work/found.json" 2> /dev/null)
  rows=$((rows + 1))
  [ -n "$found" ] && [ "$found" != "null null" ] && named=$((named + 1)) || verdict=FAIL
  [ -z "$rest" ] || verdict=FAIL
  [ "$code" = "$want" ] || verdict=FAIL
  [ $verdict = ok ] || failures=$((failures + 1))
  printf '%-5s %-44s %-17s %-4s %s%s\n' $verdict "$text" "$check" "$code" "$found" "${rest:+   ALSO $rest}"
  [ $verdict = ok ] || tail -n 3 "$work/error" | say
  clear_faults
}
well() { # well TEXT: no alarm
  local found verdict=ok
  found=$(jq -r "$alarms | map(.host + \" \" + .check + \": \" + .measured) | join(\"; \")" "$work/found.json")
  [ -z "$found" ] && [ "$code" = 0 ] && silent_rows=$((silent_rows + 1)) || verdict=FAIL
  [ $verdict = ok ] || failures=$((failures + 1))
  printf '%-5s %-44s %-17s %-4s %s\n' $verdict "$1" "no alarm" "$code" "${found:-$(jq -r '[group_by(.status)[] | "\(length) \(.[0].status)"] | join(", ")' "$work/found.json")}"
  clear_faults
}
clear_faults() { rm -f "$work"/fault.* "$work"/stop.*; }

# --- faults of one host ----------------------------------------------------------------------------------------------

of_one_host() {
  local pid folder
  if wanted "a port that is taken"; then
    nsenter --target "${holder[0]}" --net -- python3 -c 'import socket, time
s = socket.create_server(("", 29500)); time.sleep(60)' &
    pid=$!
    until net 0 sh -c 'grep -q ":733C .* 0A " /proc/net/tcp /proc/net/tcp6' || ! kill -0 $pid; do sleep 0.1; done
    one --quick --master-port 29500
    kill $pid
    wait $pid 2> /dev/null
    row "a port that is taken" ports pi0 2
  fi
  if wanted "a port that the system hands out"; then
    net 0 sh -c 'echo 20000 40000 > /proc/sys/net/ipv4/ip_local_port_range'
    one --quick --master-port 29500
    net 0 sh -c 'echo 32768 60999 > /proc/sys/net/ipv4/ip_local_port_range'
    row "a port that the system hands out" port_range pi0 0
  fi
  if wanted "an interface that is not there"; then
    one --quick --comm.interface eth9
    row "an interface that is not there" nic_choice pi0 2
  fi
  if wanted "Wi-Fi though a cable is there"; then
    net 0 ip link add eth1 type veth peer name veth9 && net 0 ip link set veth9 up && net 0 ip address add 10.78.0.1/24 dev eth1 && net 0 ip link set eth1 up
    net 0 ip route add default via 10.77.0.2
    fault 0 'net_tree; mkdir "$tree/lan/wireless"'
    one --quick
    net 0 ip route del default
    net 0 ip link del eth1
    row "Wi-Fi though a cable is there" nic_choice pi0 0
  fi
  if wanted "two cards in one subnet"; then
    net 0 ip link add eth1 type veth peer name veth9 && net 0 ip link set veth9 up && net 0 ip address add 10.77.0.101/24 dev eth1 && net 0 ip link set eth1 up
    one --quick
    net 0 ip link del eth1
    row "two cards in one subnet" subnets pi0 0
  fi
  if wanted "a small MTU"; then
    net 0 ip link set lan mtu 576
    one --quick
    net 0 ip link set lan mtu 1500
    row "a small MTU" mtu pi0 0
  fi
  if wanted "half duplex"; then
    fault 0 'net_tree; put "$tree/lan/duplex" half; put "$tree/lan/speed" 100'
    one --quick
    row "half duplex" speed pi0 0
  fi
  if wanted "errors on a link"; then
    fault 0 'net_tree; (for i in $(seq 60); do echo $((i * 100)) > "$tree/lan/statistics/rx_errors"; sleep 0.2; done) > /dev/null 2>&1 &'
    one
    row "errors on a link" speed pi0 0
  fi
  if wanted "an InfiniBand port without subnet manager"; then
    fault 0 'mount --rbind /sys/class/net "$work/disk"; made /sys/class; mkdir /sys/class/net; mount --rbind "$work/disk" /sys/class/net; umount -l "$work/disk"
      put /sys/class/infiniband/mlx5_0/ports/1/state "2: INIT"; put /sys/class/infiniband/mlx5_0/ports/1/phys_state "5: LinkUp"
      put /sys/class/infiniband/mlx5_0/ports/1/sm_lid 0x0'
    one --quick
    row "an InfiniBand port without subnet manager" infiniband pi0 0 limits
  fi
  if wanted "few open files"; then
    fault 0 'ulimit -n 1024'
    one --quick
    row "few open files" limits pi0 0
  fi
  if wanted "few processes"; then
    folder=$(group_of pids)/proof.$$
    mkdir "$folder" && echo 200 > "$folder/pids.max"
    fault 0 "echo \$\$ > '$folder/cgroup.procs'"
    one --quick
    rmdir "$folder"
    row "few processes" limits pi0 0
  fi
  if wanted "little memory for the plan"; then
    folder=$(group_of memory)/proof.$$
    mkdir "$folder" && echo 1G > "$folder/memory.limit_in_bytes"
    fault 0 "echo \$\$ > '$folder/cgroup.procs'"
    one --quick --model.layers 24 --model.hidden 1024 --model.heads 16 --model.kv-heads 16 --model.head-dim 64 --model.ffn 4096 --model.vocab 32000 --seq-len 512
    sleep 0.2
    rmdir "$folder"
    row "little memory for the plan" cgroup_memory pi0 2 "free_memory|free_space"
  fi
  if wanted "a quota of half a core"; then
    folder=$(group_of cpu)/proof.$$
    mkdir "$folder" && echo 50000 > "$folder/cpu.cfs_quota_us"
    fault 0 "echo \$\$ > '$folder/cgroup.procs'"
    one --quick
    sleep 0.2
    rmdir "$folder"
    row "a quota of half a core" cgroup_cpu pi0 0
  fi
  if wanted "more threads than cores"; then
    one --quick --train.threads 64
    row "more threads than cores" threads pi0 0
  fi
  if wanted "a host that swaps"; then
    fault 0 'over /proc/vmstat "pswpin 0"; copy=$(ls "$work"/over.$$.*vmstat); (for i in $(seq 60); do echo "pswpin $((i * 1000))" > "$copy"; sleep 0.2; done) > /dev/null 2>&1 &'
    one
    row "a host that swaps" swap pi0 0
  fi
  if wanted "huge pages"; then
    fault 0 'over /proc/meminfo "MemTotal: 16000000 kB
MemAvailable: 8000000 kB
SwapTotal: 0 kB
SwapFree: 0 kB
HugePages_Total: 3000
Hugepagesize: 2048 kB"'
    one --quick
    row "huge pages" memory_policy pi0 0
  fi
  if wanted "strict overcommit"; then
    fault 0 'over /proc/sys/vm/overcommit_memory 2'
    one --quick
    row "strict overcommit" memory_policy pi0 0
  fi
  if wanted "hardly any free memory"; then
    fault 0 'over /proc/meminfo "MemTotal: 16000000 kB
MemAvailable: 90000 kB
SwapTotal: 0 kB
SwapFree: 0 kB"'
    one --quick
    row "hardly any free memory" free_memory pi0 0
  fi
  if wanted "a clock at 60 percent"; then
    fault 0 'made /sys/devices/system/cpu; for c in 0 1; do put /sys/devices/system/cpu/cpu$c/cpufreq/scaling_governor ondemand
      put /sys/devices/system/cpu/cpu$c/cpufreq/cpuinfo_max_freq 2000000; put /sys/devices/system/cpu/cpu$c/cpufreq/scaling_cur_freq 1200000; done'
    one
    row "a clock at 60 percent" governor pi0 0
  fi
  if wanted "a hot processor"; then
    fault 0 'made /sys/class/thermal; put /sys/class/thermal/thermal_zone0/temp 91000'
    one --quick
    row "a hot processor" throttling pi0 0
  fi
  if wanted "throttling by heat"; then
    fault 0 'made /sys/devices/system/cpu; put /sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count 5
      (for i in $(seq 60); do echo $((5 + i)) > /sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count; sleep 0.2; done) > /dev/null 2>&1 &'
    one
    row "throttling by heat" throttling pi0 0
  fi
  if wanted "under-voltage of a Raspberry Pi"; then
    fault 0 'mount --rbind /sys/class/net "$work/disk"; made /sys/class; mkdir /sys/class/net; mount --rbind "$work/disk" /sys/class/net; umount -l "$work/disk"
      put /sys/class/hwmon/hwmon1/name rpi_volt; put /sys/class/hwmon/hwmon1/in0_lcrit_alarm 1'
    one --quick
    row "under-voltage of a Raspberry Pi" pi_voltage pi0 0
  fi
  if wanted "a Raspberry Pi that was throttled"; then
    fault 0 'made /sys/devices/platform; put /sys/devices/platform/soc/soc:firmware/get_throttled 40000'
    one --quick
    row "a Raspberry Pi that was throttled" pi_throttled pi0 0
  fi
  if wanted "a slow disk"; then
    fault 0 "export LD_PRELOAD='$work/loaded.so' PROOF_SYNC_SECONDS=0.08"
    one
    row "a slow disk" fsync pi0 0
  fi
  if wanted "a run in memory"; then
    fault 0 'made "$work/disk"'
    one --quick --out "$work/disk/run"
    row "a run in memory" file_system pi0 0
  fi
  if wanted "a folder that is read-only"; then
    fault 0 'mount --bind "$work/disk" "$work/disk"; mount -o remount,bind,ro "$work/disk"'
    one --quick --out "$work/disk/run"
    row "a folder that is read-only" file_system pi0 2
  fi
  if wanted "a full disk"; then
    truncate -s 40M "$work/image" && mkfs.ext4 -q -F "$work/image"
    fault 0 'mount -o loop "$work/image" "$work/disk"'
    one --quick --out "$work/disk/run"
    row "a full disk" free_space pi0 2
  fi
  if wanted "a disk too small for the checkpoints"; then
    truncate -s 3G "$work/image" && mkfs.ext4 -q -F "$work/image"
    fault 0 'mount -o loop "$work/image" "$work/disk"'
    one --quick --out "$work/disk/run" --model.layers 12 --model.hidden 768 --model.heads 12 --model.kv-heads 12 --model.head-dim 64 --model.ffn 3072 --model.vocab 32000 --seq-len 128 --micro-batch-size 1 --num-microbatches 1
    rm -f "$work/image"
    row "a disk too small for the checkpoints" free_space pi0 0
  fi
  if wanted "a variable that names no interface"; then
    fault 0 'export NCCL_SOCKET_IFNAME=ib0'
    one --quick
    row "a variable that names no interface" environment pi0 2 nic_choice
  fi
  if wanted "a host alone that is well"; then
    one
    well "a host alone that is well"
  fi
}

firewall() { # firewall NODE RULE...: for what comes to that host
  local node=$1
  shift
  net "$node" nft add table inet proof
  net "$node" nft add chain inet proof input '{ type filter hook input priority 0; }'
  net "$node" nft add rule inet proof input "$@"
}
no_firewall() { net "$1" nft delete table inet proof; }

# --- faults between hosts --------------------------------------------------------------------------------------------

of_hosts() {
  if wanted "three hosts that are well"; then
    hosts
    well "three hosts that are well"
    hosts
    well "three hosts that are well, again"
  fi
  if wanted "a clock that is off"; then
    fault 1 "export LD_PRELOAD='$work/loaded.so' PROOF_CLOCK_SECONDS=3"
    hosts --quick
    row "a clock that is off" clock pi1 0
  fi
  if wanted "a firewall that drops"; then
    firewall 1 meta l4proto tcp drop
    hosts --quick
    no_firewall 1
    row "a firewall that drops" ports pi1 2
  fi
  if wanted "a firewall that refuses"; then
    firewall 2 tcp flags syn / syn,ack reject with tcp reset
    hosts --quick
    no_firewall 2
    row "a firewall that refuses" ports pi2 2
  fi
  if wanted "a firewall like firewalld's"; then
    firewall 1 tcp flags syn / syn,ack reject with icmpx admin-prohibited
    hosts --quick
    no_firewall 1
    row "a firewall like firewalld's" ports pi1 2
  fi
  if wanted "a firewall that opens only some ports"; then
    firewall 0 tcp dport 29500 drop
    hosts --quick --master-port 29500
    no_firewall 0
    row "a firewall that opens only some ports" ports pi0 2
  fi
  if wanted "no route between two hosts"; then
    net 0 ip route add unreachable 10.77.0.2/32
    hosts --quick
    net 0 ip route del unreachable 10.77.0.2/32
    row "no route between two hosts" ports "pi0, pi1" 2
  fi
  if wanted "large packets that vanish"; then
    for node in 0 1 2; do net $node ip link set lan gso_max_segs 1; done # else a packet of several stays whole on the way
    net 3 ip link set port1 mtu 1000
    hosts --quick
    net 3 ip link set port1 mtu 1500
    for node in 0 1 2; do net $node ip link set lan gso_max_segs 65535; done
    row "large packets that vanish" mtu pi1 2
  fi
  if wanted "another MTU on one host"; then
    net 1 ip link set lan mtu 9000
    hosts --quick
    net 1 ip link set lan mtu 1500
    row "another MTU on one host" mtu pi1 0
  fi
  if wanted "a link of 100 Mbit/s"; then
    for node in 0 1 2; do fault $node "net_tree; put \"\$tree/lan/speed\" $([ $node = 1 ] && echo 100 || echo 1000)"; done
    hosts --quick
    row "a link of 100 Mbit/s" speed pi1 0
  fi
  if wanted "a slow link"; then
    rate=8mbit shape 2 lan
    hosts
    shape 2 lan
    row "a slow link" all_pairs pi2 0
  fi
  if wanted "a name that means 127.0.1.1"; then
    fault 1 'over /etc/hosts "127.0.0.1 localhost
127.0.1.1 pi1"'
    hosts --quick
    row "a name that means 127.0.1.1" names pi1 0
  fi
  if wanted "threads set on one host"; then
    fault 2 'export OMP_NUM_THREADS=1'
    fault 1 'unset OMP_NUM_THREADS'
    fault 0 'unset OMP_NUM_THREADS'
    hosts --quick
    row "threads set on one host" environment pi2 0
  fi
  if wanted "another build on one host"; then
    cp "$bin/troika" "$work/other" && echo >> "$work/other"
    fault 1 "mount --bind '$work/other' '$bin/troika'"
    hosts --quick
    row "another build on one host" versions pi1 2
  fi
  if wanted "slow memory on one host"; then
    local folder
    folder=$(group_of cpu)/proof.$$
    mkdir "$folder" && echo 20000 > "$folder/cpu.cfs_quota_us"
    fault 1 "echo \$\$ > '$folder/cgroup.procs'"
    hosts
    sleep 0.2
    rmdir "$folder"
    row "slow memory on one host" memory_bandwidth pi1 0 "cgroup_cpu|all_pairs"
  fi
  if wanted "a host that is silent"; then
    touch "$work/stop.pi2"
    hosts --quick --wait 4
    row "a host that is silent" answer pi2 75
  fi
  if wanted "a host that ssh does not reach"; then
    fault 1 'echo "ssh: connect to host pi1 port 22: No route to host" >&2; exit 255'
    hosts --quick
    row "a host that ssh does not reach" answer pi1 75
  fi
}

prepare
printf '%-5s %-44s %-17s %-4s %s\n' "" "fault" "check" "exit" "what was said"
of_one_host
of_hosts
echo
echo "$named of $rows faults named by their check; $silent_rows runs of hosts that are well without an alarm; $failures rows failed"
[ $failures = 0 ]
