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

void check_memory(const Plan& plan, int grid_rank, const Room& room) {
  const Memory need = needed(plan, grid_rank, room.where);
  const std::int64_t share = room.available_bytes / room.ranks;
  if (need.total() <= share) return;
  const std::int64_t fixed = need.lasting + need.snapshot + need.program;
  const std::int64_t micro = plan.resolved.batch.micro;
  const std::int64_t fitting = fixed < share && need.activations > 0 ? micro * (share - fixed) / need.activations : 0;
  const std::string offload = offload_that_fits(plan, need, room, share);
  const bool without_snapshot = need.total() - need.snapshot <= share;
  const std::string remedy = without_snapshot  ? "--checkpoint.async off would fit"
                             : fitting >= 1    ? fmt::format("--micro-batch-size {} would fit", fitting)
                             : offload.empty() ? other_ways_to_fit(plan)
                                               : offload;
  const bool on_gpu = room.where == Room::Where::gpu;
  throw base::ConfigError(fmt::format("this rank needs {}{}, but its share of {} free memory is {} ({} ranks {}); {}",
                                      on_gpu ? "at least " : "", describe(need), on_gpu ? "its GPU's" : "this host's",
                                      base::format_bytes(share), room.ranks, on_gpu ? "on it" : "here", remedy));
}

}  // namespace troika::plan
