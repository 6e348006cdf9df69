# Parts of the scripts that run arm64 programs on another machine, which source it.
# shellcheck shell=bash

# imitate_arm64: lets the kernel run arm64 programs by qemu, in roots of their own too, until stop_imitating; libraries are those of
# tools/arm64-sysroot.sh. Nothing where the kernel does so already, or on arm64. Needs root and qemu-user-static.
imitated_by_us=
imitate_arm64() {
  [ "$(uname -m)" != aarch64 ] || return 0
  QEMU_LD_PREFIX=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/arm64-sysroot
  export QEMU_LD_PREFIX
  local formats=/proc/sys/fs/binfmt_misc
  [ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats
  [ ! -e $formats/qemu-aarch64 ] || return 0
  cat /usr/lib/binfmt.d/qemu-aarch64.conf > $formats/register
  imitated_by_us=yes
}

stop_imitating() {
  [ -z "$imitated_by_us" ] || echo -1 > /proc/sys/fs/binfmt_misc/qemu-aarch64
  imitated_by_us=
}
