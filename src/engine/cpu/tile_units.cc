#include "cpu/tile_units.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troika::cpu {
namespace {

// Their registers are large, so that Linux asks a process to ask for them, once for all its threads.
bool is_granted() {
  constexpr int request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

}  // namespace

bool has_tile_units() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned bf16 = 1u << 22, tiles = 1u << 24;
    const bool there = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & bf16) != 0 && (d & tiles) != 0;
    return there && is_granted();
  }();
  return has;
}

}  // namespace troika::cpu
#else
namespace troika::cpu {

bool has_tile_units() { return false; }

}  // namespace troika::cpu
#endif
