#include "train/fit_batch.h"

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/units.h"
#include "config/batch.h"
#include "plan/memory_check.h"
#include "train/warm_up.h"

namespace troika::train {
namespace {

// What a rank tells of a microbatch that it has tried: the planned bytes that its GPU had no room for, for people; "" where it had, or
// where the rank has no GPU.
std::string lack_of_room(const RankContext& context, const config::Resolved& resolved, const plan::DataFacts& data,
                         const Machine& machine, ProvedMemory* proved) {
  if (machine.device.is_cpu()) return "";
  const plan::Plan plan = plan::make_plan(resolved, data);
  const bool channels = machine.backend == config::Backend::nccl && plan.shape.world() > 1;
  *proved = prove_microbatch(plan, mesh::coordinate_of(plan.shape, context.identity.world_rank), machine.device,
                             channels ? plan::gpu_channel_bytes : 0);
  if (proved->suffices) return "";
  return base::format_bytes(proved->planned);
}

// Collective: the largest candidate up to `index` with which every rank's GPU has computed a microbatch; the smallest is not tried.
std::size_t largest_proved(Session& session, const RankContext& context, const config::Resolved& resolved,
                           const plan::DataFacts& data, const Machine& machine, std::size_t index) {
  for (; index > 0; --index) {
    const config::Batch& batch = resolved.batch_candidates[index];
    ProvedMemory proved;
    const std::string mine = lack_of_room(context, config::with_batch(resolved, batch), data, machine, &proved);
    const auto lacks = session.collectives().all_gather_text("memory of a microbatch", mine);
    const auto lack = std::find_if(lacks.begin(), lacks.end(), [](const std::string& text) { return !text.empty(); });
    if (lack == lacks.end()) {
      if (!machine.device.is_cpu())
        say(context,
            base::say("batch   a microbatch of {} was computed: tensors take {} of the GPU at most, {} planned",
                      batch.micro, base::format_bytes(proved.peak), base::format_bytes(proved.planned)));
      return index;
    }
    say(context,
        base::say(
            "batch   a microbatch of {} does not fit after all: rank {}'s GPU has no room for the {} that its tensors "
            "are planned to take; trying {}",
            batch.micro, lack - lacks.begin(), *lack, resolved.batch_candidates[index - 1].micro));
  }
  return index;
}

}  // namespace

config::Resolved with_fitting_batch(Session& session, const RankContext& context, config::Resolved resolved,
                                    const plan::DataFacts& data, const Machine& machine) {
  const auto& candidates = resolved.batch_candidates;
  if (candidates.empty()) return resolved;
  const std::optional<plan::Room> room = room_of_rank(context, machine);
  if (!room) {
    throw base::ConfigError(
        base::say("batch.find_micro_batch_size needs the free memory, which this host does not tell: leave it out and set "
        "--micro-batch-size"));
  }
  session.at(0, records::Activity::fitting_microbatch);
  const plan::RankNeeds mine = plan::needs_of_rank(resolved, data, context.identity.world_rank, *room);
  std::vector<plan::RankNeeds> ranks;
  for (const std::string& text : session.collectives().all_gather_text("memory of batches", plan::to_text(mine)))
    ranks.push_back(plan::parse_rank_needs(text));
  say(context, base::say("batch   {}", plan::describe_fit(candidates, ranks)));
  const auto planned = static_cast<std::size_t>(std::max(0, plan::largest_fitting(ranks)));
  return config::with_batch(resolved, candidates[largest_proved(session, context, resolved, data, machine, planned)]);
}

}  // namespace troika::train
