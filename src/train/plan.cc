#include "train/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "config/freeze.h"
#include "config/model_config.h"
#include "executor/message_tag.h"
#include "model/adapter.h"
#include "schedule/builder.h"
#include "schedule/checker.h"
#include "sharding/range.h"
#include "sharding/ring.h"
#include "train/lane_memory.h"
#include "train/schedule_file.h"
#include "train/step_shape.h"

namespace troika::train {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

void settle_vocabulary(config::ModelSettings& model, std::int64_t tokenizer_vocab, std::int64_t tp) {
  if (model.vocab == 0) model.vocab = round_up(tokenizer_vocab, 64);
  if (model.vocab < tokenizer_vocab) {
    throw base::ConfigError(fmt::format("model.vocab is {}, but the tokenizer has {} ids; use --model.vocab {} or more",
                                        model.vocab, tokenizer_vocab, tokenizer_vocab));
  }
  if (model.vocab < tp) {
    throw base::ConfigError(
        fmt::format("parallel.tp {} is more than the vocabulary of {}: each rank needs a part of it", tp, model.vocab));
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

void settle_warmup(config::OptimizerSettings& optimizer, std::int64_t steps) {
  if (optimizer.warmup_steps > 0) return;
  optimizer.warmup_steps = static_cast<std::int64_t>(std::ceil(optimizer.warmup_ratio * static_cast<double>(steps)));
}

// So few microbatches that they fit the samples, so many that the stages of a pipeline are busy.
std::int64_t evaluated_at_once(const Plan& plan, std::int64_t most_per_rank) {
  const std::int64_t dp = plan.shape.dp, busy = plan.shape.pp == 1 ? 4 : 4 * plan.shape.pp;
  const std::int64_t all = (plan.data.valid_samples - 1) / plan.resolved.batch.micro + 1;
  return dp * std::min({(all - 1) / dp + 1, busy, most_per_rank});
}

schedule::Program evaluation_program(const Plan& plan, schedule::StepShape shape, std::int64_t most_per_rank) {
  shape.microbatches = static_cast<int>(evaluated_at_once(plan, most_per_rank));
  shape.pp_rank_of_stage = plan.program.pp_rank_of_stage;
  schedule::Program program = schedule::build_evaluation(shape);
  schedule::check(program, schedule::bounds_of_evaluation(program));
  return program;
}

mesh::Shape shape_of(const config::Layout& layout) {
  return {static_cast<int>(layout.dp), static_cast<int>(layout.pp), static_cast<int>(layout.tp),
          static_cast<int>(layout.cp)};
}

std::vector<cost::Memory> memory_of_lanes(const Plan& plan) {
  std::vector<cost::Memory> memory(plan.program.lanes.size());
  for (int rank = 0; rank < plan.shape.world(); ++rank) {
    const cost::Memory of_rank = memory_of_rank(plan, mesh::coordinate_of(plan.shape, rank));
    cost::Memory& most = memory[static_cast<std::size_t>(mesh::lane_of(plan.shape, rank))];
    if (of_rank.total() > most.total()) most = of_rank;
  }
  return memory;
}

// What the executor has numbers for.
void refuse_unnumbered(const schedule::Program& program) {
  if (program.microbatches <= executor::most_microbatches && program.stages() <= executor::most_stages) return;
  throw base::ConfigError(
      fmt::format("a step of {} microbatches in {} stages is too large: at most {} microbatches (a larger "
                  "--micro-batch-size makes fewer) and {} stages (a smaller --pp or --virtual-stages)",
                  program.microbatches, program.stages(), executor::most_microbatches, executor::most_stages));
}

// "dp 2 x pp 3", axes of 1 left out unless all are.
std::string axes(const mesh::Shape& shape) {
  std::string text;
  for (const mesh::Axis axis : {mesh::Axis::dp, mesh::Axis::pp, mesh::Axis::tp, mesh::Axis::cp}) {
    if (shape.extent(axis) > 1)
      text += fmt::format("{}{} {}", text.empty() ? "" : " x ", mesh::name(axis), shape.extent(axis));
  }
  return text.empty() ? "one rank" : text;
}

std::string name_of(const config::ModelSettings& model) {
  if (!model.path.empty()) return fmt::format("{} ({})", model.path, model.architecture);
  return model.preset == config::no_preset ? model.architecture : model.preset;
}

std::string describe_layout(const Plan& plan) {
  const auto& p = plan.settings().parallel;
  std::string cuts;
  for (int stage = 0; stage < plan.program.stages(); ++stage) {
    cuts += fmt::format("{}{}-{}", cuts.empty() ? "" : ", ", plan.program.first_segment(stage),
                        plan.program.end_segment(stage) - 1);
  }
  std::string text = "layout  " + axes(plan.shape);
  if (!plan.program.evaluates()) text += ", schedule " + (p.schedule_file.empty() ? p.schedule : p.schedule_file);
  text += ", segments per stage: " + cuts;
  if (plan.program.shards(1)) text += fmt::format(", ZeRO {}", p.zero);
  if (plan.shape.tp > 1 && p.sequence_parallel) text += ", sequence parallel";
  const bool by_file = !p.schedule_file.empty();  // then the file says what is recomputed in full
  const bool trains = !plan.program.evaluates();
  if (trains && p.recompute != "none" && !(by_file && p.recompute == "full")) text += ", recompute " + p.recompute;
  if (trains && p.offload != "none") text += ", optimizer state in " + p.offload;
  if (plan.settings().precision.compute != "fp32") text += ", " + plan.settings().precision.compute;
  return text;
}

// Empty when all is trained.
std::string describe_trained(const Plan& plan) {
  std::int64_t trained = 0, all = model::parameter_count(plan.model());
  for (const auto& info : plan.trained_parameters()) trained += info.elements();
  if (model::has_adapters(plan.trained.lora)) all += trained;
  if (plan.program.evaluates() || trained == all) return "";
  return fmt::format("trains  {} of {} parameters ({:.2f} %){}", base::format_count(trained), base::format_count(all),
                     100 * static_cast<double>(trained) / static_cast<double>(all),
                     model::has_adapters(plan.trained.lora)
                         ? fmt::format(", adapters of rank {} beside frozen weights", plan.trained.lora.rank)
                         : "");
}

std::string describe_data(const Plan& plan) {
  const std::int64_t seq_len = plan.settings().batch.seq_len;
  if (plan.data.tokens == 0)
    return fmt::format("data    random tokens, {} steps of samples of {}", plan.steps, seq_len);
  return fmt::format(
      "data    {} tokens, {} samples of {}; {} steps are {:.2f} epochs", base::format_count(plan.data.tokens),
      plan.data.samples, seq_len, plan.steps,
      static_cast<double>(plan.steps * plan.resolved.batch.global) / static_cast<double>(plan.data.samples));
}

std::string describe_evaluation(const Plan& plan) {
  const std::int64_t every = plan.settings().train.eval_every;
  const std::string when = plan.program.evaluates() ? std::string("once")
                           : every > 0              ? fmt::format("every {} steps and at the end", every)
                                                    : std::string("at the end");
  return fmt::format("valid   {} samples of {}, evaluated {}", plan.data.valid_samples, plan.settings().batch.seq_len,
                     when);
}

}  // namespace

std::vector<model::ParameterInfo> Plan::trained_parameters() const {
  std::vector<model::ParameterInfo> all;
  for (int segment = 0; segment < model::segment_count(model()); ++segment) {
    const auto add = [&all](const std::vector<model::ParameterInfo>& infos) {
      all.insert(all.end(), infos.begin(), infos.end());
    };
    if (trained.own(segment)) add(model::segment_parameters(model(), segment));
    add(model::adapter_parameters(model(), trained.lora, segment));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

bool Plan::freezes() const { return std::count(trained.segments.begin(), trained.segments.end(), false) > 0; }

sharding::SumShape Plan::sum_shape(const mesh::Coordinate& at) const {
  const sharding::ReplicaPlace place{shape.dp, shape.cp, at.dp, at.cp};
  const bool every_round = settings().parallel.zero >= 2 && place.count() > 1;
  return {resolved.batch.microbatches, place, every_round ? sharding::Sharing::every_round : sharding::Sharing::at_end};
}

sharding::SequenceParallel Plan::sequence_parallel() const {
  const bool on = settings().parallel.sequence_parallel && shape.tp > 1;
  return on ? sharding::SequenceParallel::on : sharding::SequenceParallel::off;
}

std::int64_t Plan::positions(const mesh::Coordinate& at) const {
  return sharding::chunks_of(resolved.batch.seq_len, at.cp, shape.cp).count();
}

std::int64_t Plan::rows(const mesh::Coordinate& at) const {
  const std::int64_t all = resolved.batch.micro * positions(at);
  return sequence_parallel() == sharding::SequenceParallel::on ? sharding::part_of(all, at.tp, shape.tp).count : all;
}

data::Documents documents_of(const data::Samples& samples, const data::Samples* valid) {
  return valid != nullptr && valid->documents() == data::Documents::apart ? valid->documents() : samples.documents();
}

c10::ScalarType dtype_of(const config::PrecisionSettings& precision) {
  return precision.compute == "bf16" ? at::kBFloat16 : precision.compute == "fp16" ? at::kHalf : at::kFloat;
}

std::int64_t Plan::element_bytes() const { return static_cast<std::int64_t>(c10::elementSize(dtype())); }

c10::ScalarType Plan::dtype() const { return dtype_of(settings().precision); }

model::Keep Plan::keep() const {
  return settings().parallel.recompute == "selective" ? model::Keep::lean : model::Keep::for_backward;
}

optimizer::StatePlace Plan::state_place() const {
  using Kind = optimizer::StatePlace::Kind;
  const auto& p = settings().parallel;
  const std::string folder = p.offload_folder.empty() ? settings().train.out + "/offload" : p.offload_folder;
  return {p.offload == "file" ? Kind::file : p.offload == "host" ? Kind::host : Kind::device, folder};
}

bool Plan::embedding_and_head_together() const {
  return program.pp_rank_of_stage.empty() ? shape.pp == 1
                                          : program.pp_rank_of_stage.front() == program.pp_rank_of_stage.back();
}

Plan make_plan(const config::Resolved& resolved, const DataFacts& data) {
  Plan plan;
  plan.resolved = resolved;
  plan.data = data;
  auto& settings = plan.resolved.settings;
  settle_vocabulary(settings.model, data.vocab, resolved.layout.tp);
  plan.steps = settle_steps(settings.train, data, resolved.batch.global);
  settle_warmup(settings.optimizer, plan.steps);
  if (settings.optimizer.warmup_steps > plan.steps) {
    throw base::ConfigError(fmt::format("optimizer.warmup_steps is {}, more than the {} steps of this run",
                                        settings.optimizer.warmup_steps, plan.steps));
  }
  plan.shape = shape_of(resolved.layout);
  plan.trained = {config::trained_segments(settings), settings.lora, settings.train.seed};
  const auto& parallel = settings.parallel;
  if (parallel.schedule_file.empty()) {
    plan.program = schedule::build(parallel.schedule, step_shape(plan, cut_stages(plan)));
  } else {
    plan.program = read_program(plan, parallel.schedule_file);
    set_bytes(step_shape(plan, plan.program.segment_begin), &plan.program);
  }
  refuse_unnumbered(plan.program);
  prove(plan, plan.program);
  if (data.valid_samples > 0)
    plan.evaluation = evaluation_program(plan, step_shape(plan, plan.program.segment_begin), no_limit);
  plan.memory = memory_of_lanes(plan);
  return plan;
}

Plan make_evaluation_plan(const config::Resolved& resolved, const DataFacts& data, std::int64_t most_per_rank) {
  Plan plan;
  plan.resolved = resolved;
  plan.data = data;
  settle_vocabulary(plan.resolved.settings.model, data.vocab, resolved.layout.tp);
  plan.shape = shape_of(resolved.layout);
  const std::vector<int> stages = cut_stages(plan);
  plan.trained.segments.assign(static_cast<std::size_t>(model::segment_count(plan.model())), false);
  plan.program = evaluation_program(plan, step_shape(plan, stages), most_per_rank);
  refuse_unnumbered(plan.program);
  plan.memory = memory_of_lanes(plan);
  return plan;
}

static std::string other_ways_to_fit(const Plan& plan) {
  if (plan.program.evaluates())
    return "use --zero 3 over more ranks, more stages (--pp), --tp, or --precision.compute bf16";
  return fmt::format(
      "use --zero 3 over more ranks, --recompute full, --offload file, fewer layers (--middle-layers){}, "
      "or more stages (--pp)",
      plan.model().path.empty() ? ", a smaller --model.hidden" : "");
}

void check_memory(const Plan& plan, int lane, std::int64_t available_bytes, int ranks_on_host) {
  const cost::Memory& need = plan.memory[static_cast<std::size_t>(lane)];
  const std::int64_t share = available_bytes / ranks_on_host;
  if (need.total() <= share) return;
  const std::int64_t fixed = need.lasting + need.program;
  const std::int64_t micro = plan.resolved.batch.micro;
  const std::int64_t fitting = fixed < share && need.activations > 0 ? micro * (share - fixed) / need.activations : 0;
  const bool state_fits_a_file =
      !plan.program.evaluates() && need.total() - need.state <= share && plan.settings().parallel.offload != "file";
  const std::string remedy = fitting >= 1        ? fmt::format("--micro-batch-size {} would fit", fitting)
                             : state_fits_a_file ? std::string("--offload file would fit, and be slower")
                                                 : other_ways_to_fit(plan);
  throw base::ConfigError(
      fmt::format("this rank needs {}, but its share of this host's free memory is {} ({} ranks here); {}",
                  cost::describe(need), base::format_bytes(share), ranks_on_host, remedy));
}

std::vector<std::string> describe(const Plan& plan) {
  const auto& s = plan.resolved.settings;
  const auto largest = std::max_element(plan.memory.begin(), plan.memory.end(),
                                        [](const auto& a, const auto& b) { return a.total() < b.total(); });
  std::vector<std::string> lines{fmt::format("model   {}: {} layers, width {}, {} parameters, vocabulary {}",
                                             name_of(s.model), s.model.layers, s.model.hidden,
                                             base::format_count(model::parameter_count(s.model)), s.model.vocab)};
  if (const std::string line = describe_trained(plan); !line.empty()) lines.push_back(line);
  if (!plan.program.evaluates()) lines.push_back(describe_data(plan));
  if (plan.data.valid_samples > 0) lines.push_back(describe_evaluation(plan));
  lines.push_back(describe_layout(plan));
  if (!plan.program.evaluates()) lines.push_back("batch   " + config::describe_batch(plan.resolved));
  lines.push_back("memory  largest rank " + cost::describe(*largest));
  return lines;
}

}  // namespace troika::train
