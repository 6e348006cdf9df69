#include "train/open_settings.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/units.h"
#include "config/batch.h"
#include "model/decoder.h"
#include "plan/memory_check.h"
#include "planner/open_layout.h"
#include "tensor/device.h"
#include "train/warm_up.h"

namespace troika::train {
namespace {

std::string choose(const RankContext& context, const planner::Fixed& open_layout, const planner::RunMachines& machines,
                   const plan::DataFacts& facts) {
  if (!machines.why_none.empty())
    throw base::ConfigError(base::say(
        "parallel.layout auto needs information about the machines: {}; set a layout (--dp, --pp) instead", machines.why_none));
  planner::Question question = planner::open_question(context.resolved, open_layout, machines);
  if (question.settings.model.vocab == 0) question.settings.model.vocab = facts.vocab;
  planner::know_data(&question, facts);
  const planner::Choice choice = planner::choose(question);
  for (const base::Text& reason : choice.reasons) say(context, reason);
  return planner::to_text(choice.layout);
}

}  // namespace

config::Resolved with_chosen_layout(Session& session, const RankContext& context, const planner::Fixed& open_layout,
                                    const MachineHere& here, const plan::DataFacts& facts) {
  session.at(0, records::Activity::choosing_layout);
  session.connect_world();
  comm::Channel& world = *session.channels().world;
  const schedule::Link link = world.size() > 1 ? measure_link(world) : schedule::Link{};
  const config::Settings& settings = context.resolved.settings;
  const planner::RunMachines machines = gather_machines(world, here, settings.model, link);
  const std::string layout = session.collectives().broadcast_text(
      "layout", [&] { return choose(context, open_layout, machines, facts); });
  return planner::with_choice(settings, planner::parse_layout(layout), world.size());
}

namespace {

// A rank's report on a microbatch it has tried: the planned bytes that its GPU had no room for, for people; "" where it had, or
// where the rank has no GPU.
std::string lack_of_room(const RankContext& context, const config::Resolved& resolved, const plan::DataFacts& data,
                         const Machine& machine, ProvedMemory* proved) {
  if (machine.device.is_cpu()) return "";
  const plan::Plan plan = plan::make_plan(decided(resolved, machine), data);
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
            base::say("batch   a microbatch of {} was computed: tensors use at most {} of the GPU, {} planned",
                      batch.micro, base::format_bytes(proved.peak), base::format_bytes(proved.planned)));
      return index;
    }
    say(context,
        base::say(
            "batch   a microbatch of {} does not fit after all: rank {}'s GPU cannot allocate the {} planned for its tensors; trying {}",
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
  if (!room)
    throw base::ConfigError(base::say(
        "batch.find_micro_batch_size needs the free memory, which this host does not report: omit it and set --micro-batch-size"));
  session.at(0, records::Activity::fitting_microbatch);
  const plan::RankNeeds mine = plan::needs_of_rank(resolved, data, context.identity.world_rank, *room);
  std::vector<plan::RankNeeds> ranks;
  for (const std::string& text : session.collectives().all_gather_text("memory of batches", plan::to_text(mine)))
    ranks.push_back(plan::parse_rank_needs(text));
  say(context, base::say("batch   {}", plan::describe_fit(candidates, ranks)));
  const auto planned = static_cast<std::size_t>(std::max(0, plan::largest_fitting(ranks)));
  return config::with_batch(resolved, candidates[largest_proved(session, context, resolved, data, machine, planned)]);
}

namespace {

constexpr int rounds = 3;

double median_seconds(const model::Decoder& segment, const tensor::Tensor& x_MD, const model::Tokens& tokens) {
  const auto gradients = segment.new_gradients();
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    tensor::synchronize(tokens.ids_M.device());
    const double begin = base::monotonic_seconds();
    model::DecoderResult result = segment.forward(x_MD, tokens, shape::SavedActivations::all);
    const tensor::Tensor dy_MD =
        result.y_mD.defined() ? tensor::ones(result.y_mD.sizes(), result.y_mD.type()) : tensor::Tensor();
    segment.backward_input(dy_MD, tokens, result);
    segment.backward_weight(gradients, tokens, result);
    tensor::synchronize(tokens.ids_M.device());
    seconds.push_back(base::monotonic_seconds() - begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[rounds / 2];
}

}  // namespace

std::vector<double> measure_segments(const config::Resolved& resolved, const plan::DataFacts& data,
                                     const tensor::Device& device) {
  config::ModelSettings model = resolved.settings.model;
  if (model.vocab == 0) model.vocab = data.vocab;
  const config::Batch& batch = resolved.batch;
  model::Tokens tokens = model::lay_out({{batch.seq_len, 0, 0}}, sharding::ContextGroup(), device);
  tokens.ids_M = tensor::zeros({tokens.M}, tensor::TensorType(tensor::Dtype::int64, device));
  tokens.targets_M = tokens.ids_M;
  model::Decoder::Options options;
  options.seq_len = batch.seq_len;
  options.device = device;
  options.dtype = model::dtype_of(resolved.settings.precision.compute);
  const tensor::Tensor x_MD = tensor::ones({tokens.M, model.hidden}, tensor::TensorType(options.dtype, device));
  const auto seconds_of = [&](int segment) {
    const model::Decoder one(model, segment, segment + 1, options);
    one.initialise(1, model.init_std);
    return median_seconds(one, segment == 0 ? tensor::Tensor() : x_MD, tokens);
  };
  const int head = shape::segment_count(model) - 1;
  std::vector<double> seconds(static_cast<std::size_t>(head) + 1, seconds_of(1));
  seconds.front() = seconds_of(0);
  seconds.back() = seconds_of(head);
  return seconds;
}

}  // namespace troika::train
