#include "plan/memory_check.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"

namespace troika::plan {

static std::string other_ways_to_fit(const Plan& plan) {
  if (!plan.trains()) return "use --zero 3 over more ranks, more stages (--pp), --tp, or --precision.compute bf16";
  return fmt::format(
      "use --zero 3 over more ranks, --recompute full, --offload file, fewer layers (--middle-layers){}, "
      "or more stages (--pp)",
      plan.model().path.empty() ? ", a smaller --model.hidden" : "");
}

void check_memory(const Plan& plan, int grid_rank, std::int64_t available_bytes, int ranks_on_host) {
  const Memory& need = plan.memory[static_cast<std::size_t>(grid_rank)];
  const std::int64_t share = available_bytes / ranks_on_host;
  if (need.total() <= share) return;
  const std::int64_t fixed = need.lasting + need.program;
  const std::int64_t micro = plan.resolved.batch.micro;
  const std::int64_t fitting = fixed < share && need.activations > 0 ? micro * (share - fixed) / need.activations : 0;
  const bool state_fits_a_file =
      plan.trains() && need.total() - need.state <= share && plan.settings().parallel.offload != config::Offload::file;
  const std::string remedy = fitting >= 1        ? fmt::format("--micro-batch-size {} would fit", fitting)
                             : state_fits_a_file ? std::string("--offload file would fit, and be slower")
                                                 : other_ways_to_fit(plan);
  throw base::ConfigError(
      fmt::format("this rank needs {}, but its share of this host's free memory is {} ({} ranks here); {}",
                  describe(need), base::format_bytes(share), ranks_on_host, remedy));
}

}  // namespace troika::plan
