#include "plan/memory_check.h"

#include <algorithm>
#include <optional>

#include "base/cause.h"
#include "base/error.h"
#include "base/say.h"
#include "base/units.h"
#include "config/micro_batch.h"

namespace troika::plan {
namespace {

base::Text other_ways_to_fit(const Plan& plan) {
  if (!plan.trains()) return base::say("use --zero 3 over more ranks, more stages (--pp), --tp, or --precision.compute bf16");
  return base::say("use --zero 3 over more ranks, --recompute full, --offload file, fewer layers (--middle-layers){}, or more stages (--pp)", plan.model().path.empty() ? base::say(", a smaller --model.hidden") : base::Text{});
}

bool fits_as(const config::Resolved& resolved, const Plan& plan, int grid_rank, const Room& room) {
  try {
    return fits(make_plan(resolved, plan.data), grid_rank, room);
  } catch (const base::ConfigError&) {  // more microbatches than a step may have, say
    return false;
  }
}

// Another place for the optimizer's state that would let the rank fit; nothing where there is none. On a GPU what is fetched of it
// has to fit, too.
std::optional<base::Text> offload_that_fits(const Plan& plan, int grid_rank, const Room& room) {
  const config::Offload now = plan.settings().parallel.offload;
  if (!plan.trains() || now == config::Offload::file) return std::nullopt;
  if (room.where == Room::Where::gpu) {
    config::Resolved on_host = plan.resolved;
    on_host.settings.parallel.offload = config::Offload::host;
    if (now != config::Offload::none || !fits_as(on_host, plan, grid_rank, room)) return std::nullopt;
    return base::say("--offload host would fit");
  }
  const Memory need = memory_in(plan, grid_rank, room.where);
  if (need.with_saving() - need.state > room.available_bytes / room.ranks) return std::nullopt;
  return base::say("--offload file would fit, and be slower");
}

// The largest microbatch up to `most` with which the plan fits; 0: none.
std::int64_t planned_micro(const Plan& plan, int grid_rank, const Room& room, std::int64_t most) {
  const config::Batch& now = plan.resolved.batch;
  const std::int64_t per_rank = now.micro * now.microbatches_per_rank;
  for (std::int64_t micro = most; micro >= 1; --micro) {
    if (per_rank % micro != 0) continue;
    config::Batch batch = now;
    batch.micro = micro;
    batch.microbatches_per_rank = per_rank / micro;
    batch.microbatches = now.global / micro;
    if (fits_as(config::with_batch(plan.resolved, batch), plan, grid_rank, room)) return micro;
  }
  return 0;
}

// The micro batch whose activations fit. On a GPU they fill it to the brim, and not all of them grow equally.
std::int64_t fitting_micro(const Plan& plan, int grid_rank, const Room& room) {
  const Memory need = memory_in(plan, grid_rank, room.where);
  const std::int64_t share = room.available_bytes / room.ranks, fixed = need.lasting + need.snapshot + need.program;
  const std::int64_t micro = plan.resolved.batch.micro;
  const std::int64_t fitting = fixed < share && need.activations > 0 ? micro * (share - fixed) / need.activations : 0;
  const bool planned = room.where == Room::Where::gpu && plan.trains() && plan.settings().parallel.shares.empty();
  return planned ? planned_micro(plan, grid_rank, room, std::min(fitting, micro - 1)) : fitting;
}

}  // namespace

Memory memory_in(const Plan& plan, int grid_rank, Room::Where where) {
  const Memory& memory = plan.memory[static_cast<std::size_t>(grid_rank)];
  const config::Offload offload = plan.settings().parallel.offload;
  if (where == Room::Where::host) return memory;
  return where == Room::Where::gpu ? on_gpu(memory, offload) : beside_gpu(memory, offload);
}

bool fits(const Plan& plan, int grid_rank, const Room& room) {
  return memory_in(plan, grid_rank, room.where).with_saving() <= room.available_bytes / room.ranks;
}

base::Text describe_lack(const Plan& plan, int grid_rank, const Room& room) {
  return base::say(room.where == Room::Where::gpu ? base::Phrase("this rank needs about {}, but its share of its GPU's free memory is {} ({} on it)") : base::Phrase("this rank needs {}, but its share of this host's free memory is {} ({} here)"),
                   text_of(memory_in(plan, grid_rank, room.where)), base::format_bytes(room.available_bytes / room.ranks),
                   base::counted_text(room.ranks, "rank"));
}

void check_memory(const Plan& plan, int grid_rank, const Room& room) {
  if (fits(plan, grid_rank, room)) return;
  const Memory need = memory_in(plan, grid_rank, room.where);
  const std::int64_t share = room.available_bytes / room.ranks, fitting = fitting_micro(plan, grid_rank, room);
  const std::optional<base::Text> offload = offload_that_fits(plan, grid_rank, room);
  const bool without_snapshot = need.total() <= share;
  const base::Text remedy = without_snapshot ? base::say("--checkpoint.async off would fit")
                            : fitting >= 1   ? base::say("--micro-batch-size {} would fit", fitting)
                                             : offload.value_or(other_ways_to_fit(plan));
  throw base::ConfigError(base::say("{}; {}", describe_lack(plan, grid_rank, room), remedy),
      base::Cause::plan_exceeds_memory);
}

}  // namespace troika::plan
