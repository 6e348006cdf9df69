#include "plan/memory_check.h"

#include <optional>

#include "base/counted.h"
#include "base/error.h"
#include "base/say.h"
#include "base/units.h"
#include "plan/texts.h"

namespace troika::plan {
namespace {

base::Text other_ways_to_fit(const Plan& plan) {
  if (!plan.trains()) return base::say(texts.evaluated);
  return base::say(texts.trained, plan.model().path.empty() ? base::say(texts.smaller_hidden) : base::Text{});
}

// State that is offloaded lies on the host.
Memory needed(const Plan& plan, int grid_rank, Room::Where where) {
  Memory need = plan.memory[static_cast<std::size_t>(grid_rank)];
  if (where == Room::Where::host) return need;
  need.program = gpu_library_bytes;
  need.snapshot = 0;
  if (plan.settings().parallel.offload == config::Offload::none) return need;
  need.at_once -= need.state;
  need.in_steps -= need.state;
  need.with_logits -= need.state;
  need.lasting -= need.state;
  need.state = 0;
  return need;
}

// Another place for the optimizer's state that would let the rank fit; nothing where there is none.
std::optional<base::Text> offload_that_fits(const Plan& plan, const Memory& need, const Room& room,
                                            std::int64_t share) {
  const config::Offload now = plan.settings().parallel.offload;
  if (!plan.trains() || need.with_saving() - need.state > share) return std::nullopt;
  const bool on_gpu = room.where == Room::Where::gpu;
  if (on_gpu ? now != config::Offload::none : now == config::Offload::file) return std::nullopt;
  return base::say(on_gpu ? texts.offload_host : texts.offload_file);
}

}  // namespace

bool fits(const Plan& plan, int grid_rank, const Room& room) {
  return needed(plan, grid_rank, room.where).with_saving() <= room.available_bytes / room.ranks;
}

base::Text describe_lack(const Plan& plan, int grid_rank, const Room& room) {
  return base::say(room.where == Room::Where::gpu ? texts.lack_on_gpu : texts.lack_here,
                   text_of(needed(plan, grid_rank, room.where)), base::format_bytes(room.available_bytes / room.ranks),
                   base::counted_text(room.ranks, "rank"));
}

void check_memory(const Plan& plan, int grid_rank, const Room& room) {
  if (fits(plan, grid_rank, room)) return;
  const Memory need = needed(plan, grid_rank, room.where);
  const std::int64_t share = room.available_bytes / room.ranks;
  const std::int64_t fixed = need.lasting + need.snapshot + need.program;
  const std::int64_t micro = plan.resolved.batch.micro;
  const std::int64_t fitting = fixed < share && need.activations > 0 ? micro * (share - fixed) / need.activations : 0;
  const std::optional<base::Text> offload = offload_that_fits(plan, need, room, share);
  const bool without_snapshot = need.total() <= share;
  const base::Text remedy = without_snapshot ? base::say(texts.no_snapshot)
                            : fitting >= 1   ? base::say(texts.micro, fitting)
                                             : offload.value_or(other_ways_to_fit(plan));
  throw base::ConfigError(base::say(texts.lack_and_remedy, describe_lack(plan, grid_rank, room), remedy));
}

}  // namespace troika::plan
