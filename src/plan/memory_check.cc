#include "plan/memory_check.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"

namespace troika::plan {
namespace {

std::string other_ways_to_fit(const Plan& plan) {
  if (!plan.trains()) return "use --zero 3 over more ranks, more stages (--pp), --tp, or --precision.compute bf16";
  return fmt::format(
      "use --zero 3 over more ranks, --recompute full, --offload file, fewer layers (--middle-layers){}, "
      "or more stages (--pp)",
      plan.model().path.empty() ? ", a smaller --model.hidden" : "");
}

// State that is offloaded lies on the host.
Memory needed(const Plan& plan, int grid_rank, Room::Where where) {
  Memory need = plan.memory[static_cast<std::size_t>(grid_rank)];
  if (where == Room::Where::host) return need;
  need.program = gpu_library_bytes;
  need.snapshot = 0;
  if (plan.settings().parallel.offload == config::Offload::none) return need;
  need.at_once -= need.state;
  need.lasting -= need.state;
  need.state = 0;
  return need;
}

// Another place for the optimizer's state that would let the rank fit; "" where there is none.
std::string offload_that_fits(const Plan& plan, const Memory& need, const Room& room, std::int64_t share) {
  const config::Offload now = plan.settings().parallel.offload;
  if (!plan.trains() || need.total() - need.state > share) return "";
  if (room.where == Room::Where::gpu) return now == config::Offload::none ? "--offload host would fit" : "";
  return now == config::Offload::file ? "" : "--offload file would fit, and be slower";
}

}  // namespace

bool fits(const Plan& plan, int grid_rank, const Room& room) {
  return needed(plan, grid_rank, room.where).total() <= room.available_bytes / room.ranks;
}

std::string describe_lack(const Plan& plan, int grid_rank, const Room& room) {
  const bool on_gpu = room.where == Room::Where::gpu;
  return fmt::format("this rank needs {}{}, but its share of {} free memory is {} ({} ranks {})",
                     on_gpu ? "at least " : "", describe(needed(plan, grid_rank, room.where)),
                     on_gpu ? "its GPU's" : "this host's", base::format_bytes(room.available_bytes / room.ranks),
                     room.ranks, on_gpu ? "on it" : "here");
}

void check_memory(const Plan& plan, int grid_rank, const Room& room) {
  if (fits(plan, grid_rank, room)) return;
  const Memory need = needed(plan, grid_rank, room.where);
  const std::int64_t share = room.available_bytes / room.ranks;
  const std::int64_t fixed = need.lasting + need.snapshot + need.program;
  const std::int64_t micro = plan.resolved.batch.micro;
  const std::int64_t fitting = fixed < share && need.activations > 0 ? micro * (share - fixed) / need.activations : 0;
  const std::string offload = offload_that_fits(plan, need, room, share);
  const bool without_snapshot = need.total() - need.snapshot <= share;
  const std::string remedy = without_snapshot  ? "--checkpoint.async off would fit"
                             : fitting >= 1    ? fmt::format("--micro-batch-size {} would fit", fitting)
                             : offload.empty() ? other_ways_to_fit(plan)
                                               : offload;
  throw base::ConfigError(describe_lack(plan, grid_rank, room) + "; " + remedy);
}

}  // namespace troika::plan
