#include "train/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "schedule/builder.h"
#include "schedule/checker.h"
#include "schedule/partition.h"
#include "sharding/canonical_sum.h"

namespace troika::train {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

void settle_vocabulary(config::ModelSettings& model, std::int64_t tokenizer_vocab) {
  if (model.vocab == 0) model.vocab = round_up(tokenizer_vocab, 64);
  if (model.vocab < tokenizer_vocab) {
    throw base::ConfigError(fmt::format("model.vocab is {}, but the tokenizer has {} ids; use --model.vocab {} or more",
                                        model.vocab, tokenizer_vocab, tokenizer_vocab));
  }
}

std::int64_t settle_steps(config::TrainSettings& train, const DataFacts& data, std::int64_t global_batch) {
  if (train.steps == 0) {
    train.steps =
        static_cast<std::int64_t>(train.epochs * static_cast<double>(data.samples) / static_cast<double>(global_batch));
    train.steps = std::max<std::int64_t>(train.steps, 1);
  }
  return train.steps;
}

std::vector<std::pair<int, int>> cut_stages(const config::Resolved& resolved) {
  const auto& s = resolved.settings;
  const int pp = static_cast<int>(resolved.layout.pp);
  if (s.parallel.stage_layers.empty()) {
    return schedule::partition_by_cost(model::segment_costs(s.model, s.batch.seq_len), pp);
  }
  return schedule::partition_by_layers(s.parallel.stage_layers, s.model.layers);
}

// The most bytes any dp rank of the stage sends while summing gradients.
std::int64_t sum_bytes(std::int64_t elements, const config::Batch& batch, int dp) {
  std::int64_t most = 0;
  for (int rank = 0; rank < dp; ++rank)
    most = std::max(most, sharding::CanonicalSum::bytes_sent(elements, batch.microbatches, rank, dp));
  return most;
}

schedule::PipelineShape pipeline_shape(const Plan& plan) {
  const config::Batch& batch = plan.resolved.batch;
  schedule::PipelineShape shape;
  shape.pp = plan.shape.pp;
  shape.dp = plan.shape.dp;
  shape.microbatches = static_cast<int>(batch.microbatches);
  shape.tied = plan.model().tie_embeddings;
  shape.boundary_bytes = 4 * batch.micro * batch.seq_len * plan.model().hidden;
  shape.tied_bytes = 4 * plan.model().vocab * plan.model().hidden;
  for (const auto& [first, end] : plan.stages) {
    shape.gradient_bytes.push_back(
        sum_bytes(model::stage_layout(plan.model(), first, end).gradient_elements, batch, plan.shape.dp));
  }
  return shape;
}

std::vector<cost::Memory> memory_of_lanes(const Plan& plan, const schedule::Report& report, std::int64_t border_bytes) {
  const config::Batch& batch = plan.resolved.batch;
  const auto saved = model::segment_saved_bytes(plan.model(), batch.micro, batch.seq_len);
  std::vector<cost::Memory> memory;
  for (int pp_rank = 0; pp_rank < plan.shape.pp; ++pp_rank) {
    const auto [first, end] = plan.stages[static_cast<std::size_t>(pp_rank)];
    const model::StageLayout layout = model::stage_layout(plan.model(), first, end);
    cost::StageNumbers numbers;
    numbers.parameter_elements = layout.parameter_elements;
    numbers.gradient_elements = layout.gradient_elements;
    for (int segment = first; segment < end; ++segment) numbers.saved_bytes += saved[static_cast<std::size_t>(segment)];
    numbers.border_bytes = plan.shape.pp > 1 ? border_bytes : 0;
    numbers.microbatches = batch.microbatches_per_rank;
    for (int dp_rank = 0; dp_rank < plan.shape.dp; ++dp_rank) {
      numbers.in_flight = report.max_in_flight[static_cast<std::size_t>(plan.program.lane(pp_rank, dp_rank))];
      memory.push_back(cost::memory_of(numbers));
    }
  }
  return memory;
}

}  // namespace

std::vector<std::string> Plan::parameter_names() const {
  std::vector<std::string> names;
  for (const auto& info : model::all_parameters(model())) names.push_back(info.name);
  return names;
}

Plan make_plan(const config::Resolved& resolved, const DataFacts& data) {
  Plan plan;
  plan.resolved = resolved;
  plan.data = data;
  auto& settings = plan.resolved.settings;
  settle_vocabulary(settings.model, data.vocab);
  plan.steps = settle_steps(settings.train, data, resolved.batch.global);
  if (settings.optimizer.warmup_steps > plan.steps) {
    throw base::ConfigError(fmt::format("optimizer.warmup_steps is {}, more than the {} steps of this run",
                                        settings.optimizer.warmup_steps, plan.steps));
  }
  const auto& layout = resolved.layout;
  plan.shape = {static_cast<int>(layout.dp), static_cast<int>(layout.pp), static_cast<int>(layout.tp),
                static_cast<int>(layout.cp)};
  plan.stages = cut_stages(plan.resolved);

  const schedule::PipelineShape shape = pipeline_shape(plan);
  plan.program = schedule::build(settings.parallel.schedule, shape);
  const schedule::Report report = schedule::check(plan.program, schedule::bounds(settings.parallel.schedule, shape));
  plan.memory = memory_of_lanes(plan, report, shape.boundary_bytes);
  return plan;
}

void check_memory(const Plan& plan, int lane, std::int64_t available_bytes, int ranks_on_host) {
  const cost::Memory& need = plan.memory[static_cast<std::size_t>(lane)];
  const std::int64_t share = available_bytes / ranks_on_host;
  if (need.total() <= share) return;
  const std::int64_t fixed = need.total() - need.activations;
  const std::int64_t micro = plan.resolved.batch.micro;
  const std::int64_t fitting = fixed < share && need.activations > 0 ? micro * (share - fixed) / need.activations : 0;
  const std::string remedy =
      fitting >= 1 ? fmt::format("--micro-batch-size {} would fit", fitting)
                   : std::string("use fewer layers (--middle-layers), a smaller --model.hidden, or more stages (--pp)");
  throw base::ConfigError(
      fmt::format("this rank needs {}, but its share of this host's free memory is {} ({} ranks here); {}",
                  cost::describe(need), base::format_bytes(share), ranks_on_host, remedy));
}

std::vector<std::string> describe(const Plan& plan) {
  const auto& s = plan.resolved.settings;
  std::string cuts;
  for (const auto& [first, end] : plan.stages) cuts += fmt::format("{}{}-{}", cuts.empty() ? "" : ", ", first, end - 1);
  const auto largest = std::max_element(plan.memory.begin(), plan.memory.end(),
                                        [](const auto& a, const auto& b) { return a.total() < b.total(); });
  return {
      fmt::format("model   {}: {} layers, width {}, {} parameters, vocabulary {}", s.model.preset, s.model.layers,
                  s.model.hidden, base::format_count(model::parameter_count(s.model)), s.model.vocab),
      fmt::format(
          "data    {} tokens, {} samples of {}; {} steps are {:.2f} epochs", base::format_count(plan.data.tokens),
          plan.data.samples, s.batch.seq_len, plan.steps,
          static_cast<double>(plan.steps * plan.resolved.batch.global) / static_cast<double>(plan.data.samples)),
      fmt::format("layout  dp {} x pp {}, schedule {}, segments per stage: {}", plan.shape.dp, plan.shape.pp,
                  s.parallel.schedule, cuts),
      "batch   " + config::describe_batch(plan.resolved),
      "memory  largest rank " + cost::describe(*largest),
  };
}

}  // namespace troika::train
