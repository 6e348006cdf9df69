#include "plan/memory_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/cause.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "config/batch.h"

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
  return base::say("--offload file would fit, but be slower");
}

// The largest microbatch up to `most` with which the plan fits; 0: none.
std::int64_t planned_micro(const Plan& plan, int grid_rank, const Room& room, std::int64_t most) {
  const config::Batch& now = plan.resolved.batch;
  const std::int64_t per_rank = now.micro * now.microbatches_per_rank;
  for (std::int64_t micro = most; micro >= 1; --micro) {
    if (per_rank % micro != 0) continue;
    const config::Batch batch = config::with_micro(now, micro, plan.shape.dp);
    if (fits_as(config::with_batch(plan.resolved, batch), plan, grid_rank, room)) return micro;
  }
  return 0;
}

// The micro batch whose activations fit. On a GPU they fill it to the brim, and not all of them grow equally.
std::int64_t fitting_micro(const Plan& plan, int grid_rank, const Room& room) {
  const Memory need = memory_in(plan, grid_rank, room.where);
  const std::int64_t share = room.available_bytes / room.ranks, fixed = need.lasting + need.snapshot + need.program;
  if (plan.resolved.batch.tokens_per_microbatch > 0) return 0;
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

namespace {

bool fits(const std::vector<RankNeeds>& ranks, std::size_t candidate) {
  return std::all_of(ranks.begin(), ranks.end(), [&](const RankNeeds& rank) {
    const std::int64_t need = rank.needs[candidate];
    return need >= 0 && need <= rank.share;
  });
}

const RankNeeds& tightest(const std::vector<RankNeeds>& ranks, std::size_t candidate) {
  return *std::max_element(ranks.begin(), ranks.end(), [&](const RankNeeds& a, const RankNeeds& b) {
    return a.needs[candidate] - a.share < b.needs[candidate] - b.share;
  });
}

base::Text needed(const std::vector<RankNeeds>& ranks, std::size_t candidate) {
  const RankNeeds& rank = tightest(ranks, candidate);
  const std::int64_t need = rank.needs[candidate];
  if (need < 0) return base::say("no plan can be made");
  return base::say("{} of {}", base::format_bytes(need), base::format_bytes(rank.share));
}

std::int64_t bytes_needed(const config::Resolved& resolved, const DataFacts& data, int world_rank, Room::Where where) {
  try {
    const Plan plan = make_plan(resolved, data);
    return memory_in(plan, mesh::grid_rank_of(plan.shape, world_rank), where).with_saving();
  } catch (const base::ConfigError&) {  // more microbatches than a step may have, say
    return -1;
  }
}

}  // namespace

RankNeeds needs_of_rank(const config::Resolved& resolved, const DataFacts& data, int world_rank, const Room& room) {
  RankNeeds needs{room.available_bytes / room.ranks, {}};
  for (const config::Batch& batch : resolved.batch_candidates)
    needs.needs.push_back(bytes_needed(config::with_batch(resolved, batch), data, world_rank, room.where));
  return needs;
}

std::string to_text(const RankNeeds& needs) { return fmt::format("{} {}", needs.share, fmt::join(needs.needs, " ")); }

RankNeeds parse_rank_needs(const std::string& text) {
  RankNeeds needs;
  for (const std::string& word : base::split(text, ' ')) {
    std::int64_t bytes = 0;
    if (!base::parse_int(word, &bytes)) throw base::BugError("needs of a rank '" + text + "' are no numbers");
    needs.needs.push_back(bytes);
  }
  if (needs.needs.empty()) throw base::BugError("a rank told nothing of its memory");
  needs.share = needs.needs.front();
  needs.needs.erase(needs.needs.begin());
  return needs;
}

int largest_fitting(const std::vector<RankNeeds>& ranks) {
  for (std::size_t candidate = ranks.front().needs.size(); candidate-- > 0;) {
    if (fits(ranks, candidate)) return static_cast<int>(candidate);
  }
  return -1;
}

base::Text describe_fit(const std::vector<config::Batch>& candidates, const std::vector<RankNeeds>& ranks) {
  const auto next = static_cast<std::size_t>(largest_fitting(ranks) + 1);
  if (next == 0) return base::say("micro batch {} does not fit ({})", candidates.front().micro, needed(ranks, 0));
  const std::int64_t chosen = candidates[next - 1].micro;
  const base::Text bytes = needed(ranks, next - 1);
  if (next == candidates.size()) return base::say("micro batch {} fits ({}), the largest there is to choose", chosen, bytes);
  return base::say("micro batch {} fits ({}), {} does not ({})", chosen, bytes, candidates[next].micro, needed(ranks, next));
}

}  // namespace troika::plan
