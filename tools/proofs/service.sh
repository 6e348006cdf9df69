#!/usr/bin/env bash
# Proofs of the systemd unit troika@.service: the package (tools/release.sh) in a fresh Debian 12 that boots by itself in a container
# (systemd-nspawn). One line per check; fails when one does. Takes two to four minutes.
#
#   tools/proofs/service.sh [FOLDER_OF_PACKAGES [ROOT]]     (default: build/release-files; ROOT: a root that debootstrap made; copied)
#
# Needs root, debootstrap, systemd-container and a Debian mirror.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")/../.." && pwd)

die() {
  echo "service: $1" >&2
  exit 2
}
packages=$(cd "${1:-$here/build/release-files}" 2> /dev/null && pwd) || die "there is no folder '${1:-build/release-files}'; tools/release.sh makes it"
ls "$packages"/troika_*.deb > /dev/null 2>&1 || die "'$packages' has no packages; tools/release.sh makes them"
[ "$(id -u)" = 0 ] || die "a container needs root; run it with sudo"
for tool in debootstrap systemd-nspawn; do
  command -v $tool > /dev/null || die "$tool is missing; apt-get install debootstrap systemd-container"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/troika-service-XXXXXX")
root=$work/root container='' init=''
leave() {
  [ -z "$init" ] || nsenter -t "$init" -a systemctl poweroff > /dev/null 2>&1 || :
  [ -z "$container" ] || { for _ in $(seq 50); do kill -0 "$container" 2> /dev/null || break; sleep 0.2; done; kill "$container" 2> /dev/null || :; }
  ! mountpoint -q "$root/proc" || umount "$root/proc"
  rm -rf "$work"
}
trap leave EXIT
trap 'exit 130' INT TERM HUP

if [ -n "${2:-}" ]; then
  cp -a "$2" "$root"
else
  debootstrap --variant=minbase bookworm "$root" > "$work/log" 2>&1 || { tail "$work/log" && die "debootstrap failed"; }
fi
cp "$packages"/troika_*.deb "$root/root/"
cp /etc/resolv.conf "$root/etc/"
mount -t proc proc "$root/proc"
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -ec '
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends systemd systemd-sysv dbus procps /root/troika_*_amd64.deb
  mkdir -p /srv/data /etc/troika && cd /srv/data
  troika data tokenizer /usr/share/common-licenses --vocab 512 --out tokenizer
  troika data prepare /usr/share/common-licenses --tokenizer tokenizer --out tokens' > "$work/log" 2>&1 || { tail "$work/log" && die "the packages cannot be installed"; }
umount "$root/proc"
cat > "$root/etc/troika/small.yaml" << 'END_OF_SETTINGS'
model: {layers: 2, hidden: 64, heads: 2, kv_heads: 1, head_dim: 32, ffn: 128}
data: {train: /srv/data/tokens, tokenizer: /srv/data/tokenizer}
batch: {seq_len: 64, micro_batch_size: 1, global_batch_size: 4}
train: {steps: 100000, threads: 1}
END_OF_SETTINGS
echo 'LAUNCH=--nproc-per-node 2' > "$root/etc/troika/small.env"
sed 's/layers: 2/layers: two/' "$root/etc/troika/small.yaml" > "$root/etc/troika/wrong.yaml"
sed 's/100000/30/' "$root/etc/troika/small.yaml" > "$root/etc/troika/short.yaml"

systemd-nspawn -q -D "$root" -b --register=no --keep-unit --console=pipe < /dev/null > "$work/console" 2>&1 &
container=$!
within() { # within SECONDS COMMAND...
  local end=$((SECONDS + $1))
  while ! "${@:2}" > "$work/said" 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.5
  done
}
booted() {
  init=$(pgrep -P "$container" | head -n 1) && [ "$(nsenter -t "$init" -a systemctl is-system-running)" != starting ] &&
    nsenter -t "$init" -a systemctl show-environment
}
within 60 booted || { cat "$work/console" "$work/said" && die "systemd does not start in a container here"; }

there() { nsenter -t "$init" -a "$@"; }
failed=0
check() { # check TEXT COMMAND...
  local begin=$SECONDS
  if "${@:2}" > "$work/said" 2>&1; then
    echo "ok    $1 ($((SECONDS - begin)) s)"
  else
    echo "FAIL  $1" && tail -n 15 "$work/said" | sed 's/^/      | /' && failed=$((failed + 1))
  fi
}
property() { there systemctl show -P "$2" "troika@$1"; }
status_says() { property "$1" StatusText | tee /dev/stderr | grep -q -E "$2"; }
is() { [ "$(property "$1" "$2" | tee /dev/stderr)" = "$3" ]; }
log_of() { there journalctl -o cat -u "troika@$1"; }
refused() { ! there systemctl start troika@wrong && log_of wrong | tee /dev/stderr | grep -q "model.layers"; }
not_again() { sleep 12 && is wrong NRestarts 0; }
step_of() { property small StatusText | sed -n 's/^step \([0-9]*\).*/\1/p'; }
stopped_and_saved() { there systemctl stop troika@small && is small Result success && ls "$root/var/lib/private/troika/small/checkpoints" | grep step-; }
resumed() { there systemctl start troika@small && within 30 status_says small '^step' && log_of small | grep "resumed from step"; }
killed_rank_comes_back() {
  local before rank
  before=$(property small NRestarts)
  rank=$(there pgrep -n -f 'troika.*train /etc/troika/small.yaml') && there kill -9 "$rank"
  within 60 restarted "$before" && within 60 status_says small '^step'
}
restarted() { [ "$(property small NRestarts)" -gt "$1" ]; }
as_nobody_known() { [ "$(stat -c %u "$root/var/lib/private/troika/small")" -gt 60000 ]; }
ends_well() { there systemctl start troika@short && within 60 is short ActiveState inactive && is short Result success && log_of short | grep "step 30/30"; }

check "wrong settings: systemctl start fails and the journal names model.layers" refused
check "and they are not tried again" not_again
check "systemctl start of a run of two ranks" there systemctl start troika@small
check "systemctl status shows its step" within 60 status_says small '^step [0-9]+/100000 loss'
echo "      $(property small StatusText)"
check "the run belongs to a user of its own" as_nobody_known
check "systemctl stop saves" stopped_and_saved
check "systemctl start resumes it" resumed
check "a rank is killed: systemd starts the run again, which resumes" killed_rank_comes_back
check "a run that ends stays ended" ends_well
echo "$failed failed"
exit "$((failed > 0))"
