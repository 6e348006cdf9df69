#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "config/presets.h"
#include "plan/memory_check.h"
#include "schedule/instruction/placement.h"
#include "shape/adapter.h"
#include "shape/segment_costs.h"

namespace troika::plan {
namespace {

Plan with_memory(Job job, Stages stages, Programs programs) {
  std::vector<Memory> memory = memory_of_grid_ranks(job, stages, programs);
  Plan plan{std::move(job), std::move(stages), std::move(programs.step), std::move(programs.evaluation),
            std::move(memory)};
  if (plan.trains() && plan.settings().checkpoint.async == config::OnOff::on) count_snapshots(&plan);
  return plan;
}

}  // namespace

Plan make_plan(const config::Resolved& resolved, const DataFacts& data) {
  Job job = training_job(resolved, data);
  const std::string& file = job.settings().parallel.schedule_file;
  const std::optional<schedule::Program> written =
      file.empty() ? std::nullopt : std::make_optional(read_program(job, file));
  if (written) job.room = static_cast<int>(written->microbatches / job.resolved.batch.microbatches);
  const Stages stages = written ? stages_of(*written) : cut_stages(job);
  const schedule::StepShape shape = step_shape(job, stages);
  Programs programs;
  programs.step = written ? complete_step(job, shape, *written) : build_step(job, shape);
  if (data.valid_samples > 0) programs.evaluation = build_evaluation(job, shape, no_limit);
  return with_memory(job, stages, std::move(programs));
}

Plan make_evaluation_plan(const config::Resolved& resolved, const DataFacts& data, std::int64_t most_per_rank) {
  const Job job = evaluation_job(resolved, data);
  const Stages stages = cut_stages(job);
  return with_memory(job, stages, {build_evaluation(job, step_shape(job, stages), most_per_rank), {}});
}

namespace {

// "dp 2 x pp 3", axes of 1 left out unless all are.
base::Text axes(const mesh::Shape& shape) {
  std::string text;
  for (const mesh::Axis axis : {mesh::Axis::dp, mesh::Axis::pp, mesh::Axis::tp, mesh::Axis::cp}) {
    if (shape.extent(axis) > 1)
      text += fmt::format("{}{} {}", text.empty() ? "" : " x ", mesh::name(axis), shape.extent(axis));
  }
  return text.empty() ? base::say("one rank") : base::verbatim(text);
}

std::string name_of(const config::ModelSettings& model) {
  if (!model.path.empty()) return fmt::format("{} ({})", model.path, word_of(model.architecture));
  return model.preset == config::no_preset ? word_of(model.architecture) : model.preset;
}

// Empty when all is trained.
base::Text describe_trained(const Plan& plan) {
  std::int64_t trained = 0, all = shape::parameter_count(plan.model());
  for (const auto& info : plan.trained_parameters()) trained += info.elements();
  if (shape::has_adapters(plan.trained.lora)) all += trained;
  if (!plan.trains() || trained == all) return {};
  const base::Text count = base::say("trains  {} of {} parameters ({:.2f} %)", base::format_count(trained), base::format_count(all),
                                     100 * static_cast<double>(trained) / static_cast<double>(all));
  if (!shape::has_adapters(plan.trained.lora)) return count;
  const std::string& others = plan.trained.lora.rank_pattern;
  if (others.empty()) return base::say("{}, adapters of rank {} on frozen weights", count, plan.trained.lora.rank);
  return base::say("{}, adapters of rank {} ({}) on frozen weights", count, plan.trained.lora.rank, others);
}

std::vector<base::Text> describe_data(const Plan& plan) {
  const std::int64_t seq_len = plan.settings().batch.seq_len;
  const base::Text steps = base::counted_text(plan.steps, "step");
  if (plan.data.tokens == 0) return {base::say("data    random tokens, {} of samples of {}", steps, seq_len)};
  const auto lengths = lengths_of(plan);
  const base::Text samples =
      lengths ? describe_samples(*lengths) : base::say("{} of {}", base::counted_text(plan.data.samples, "sample"), seq_len);
  std::vector<base::Text> lines{
      base::say("data    {} tokens, {}; {} = {:.2f} epochs", base::format_count(plan.data.tokens), samples, steps,
                static_cast<double>(plan.steps * plan.resolved.batch.global) / static_cast<double>(plan.data.samples))};
  if (lengths) lines.push_back(base::say("        {}", describe_microbatches(*lengths)));
  return lines;
}

base::Text describe_evaluation(const Plan& plan) {
  const std::int64_t every = plan.settings().train.eval_every;
  const base::Text samples = base::counted_text(plan.data.valid_samples, "sample");
  const std::int64_t length = plan.settings().batch.seq_len;
  if (!plan.trains()) return base::say("valid   {} of {}, evaluated once", samples, length);
  if (every == 0) return base::say("valid   {} of {}, evaluated at the end", samples, length);
  if (every == 1) return base::say("valid   {} of {}, evaluated every step and at the end", samples, length);
  return base::say("valid   {} of {}, evaluated every {} steps and at the end", samples, length, every);
}

std::int64_t most_rows_of(const Plan& plan) {
  return *std::max_element(plan.sizes.most_rows.begin(), plan.sizes.most_rows.end());
}

base::Text describe_memory(const Plan& plan, Room::Where where) {
  Memory largest;
  std::size_t of = 0;
  for (std::size_t rank = 0; rank < plan.memory.size(); ++rank) {
    const Memory memory = memory_in(plan, static_cast<int>(rank), where);
    if (memory.total() <= largest.total()) continue;
    largest = memory;
    of = rank;
  }
  const base::Text all = text_of(largest);
  const base::Text memory =
      plan.data.sizes ? base::say("{}, with the largest microbatch of these data ({} rows)", all, most_rows_of(plan)) : all;
  if (where == Room::Where::host) return base::say("memory  largest rank {}", memory);
  const Memory host = memory_in(plan, static_cast<int>(of), Room::Where::host_of_gpu);
  return base::say("memory  largest rank {} of its GPU, {} of the host", memory, base::format_bytes(host.with_saving()));
}

}  // namespace

std::optional<records::SampleLengths> lengths_of(const Plan& plan) {
  if (!plan.data.lengths) return std::nullopt;
  return plan.data.lengths(plan.resolved.batch, position_costs(plan.model()));
}

base::Text model_line(const Plan& plan) {
  const config::ModelSettings& model = plan.settings().model;
  return base::say("{}: {}, width {}, {} parameters, vocabulary {}", name_of(model), base::counted_text(model.layers, "layer"),
                   model.hidden, base::format_count(shape::parameter_count(model)), model.vocab);
}

base::Text layout_line(const Plan& plan) {
  const auto& p = plan.settings().parallel;
  std::vector<std::string> cuts;
  for (int stage = 0; stage < plan.program.stages(); ++stage)
    cuts.push_back(fmt::format("{}-{}", plan.program.first_segment(stage), plan.program.end_segment(stage) - 1));
  std::vector<base::Text> parts{axes(plan.shape)};
  if (plan.trains()) parts.push_back(base::say("schedule {}", p.schedule_file.empty() ? word_of(p.schedule) : p.schedule_file));
  parts.push_back(base::say("segments per stage: {}", base::join(cuts, ", ")));
  if (plan.program.shards(1)) parts.push_back(base::say("ZeRO {}", p.zero));
  if (plan.shape.tp > 1 && p.sequence_parallel) parts.push_back(base::say("sequence parallel"));
  const bool of_file = !p.schedule_file.empty() && p.recompute == config::Recompute::full;
  if (plan.trains() && p.recompute != config::Recompute::none && !of_file)
    parts.push_back(base::say("recompute {}", word_of(p.recompute)));
  if (plan.trains() && p.offload != config::Offload::none)
    parts.push_back(base::say("optimizer state in {}", word_of(p.offload)));
  if (plan.precision() != config::Precision::fp32) parts.push_back(base::verbatim(word_of(plan.precision())));
  return base::join(parts, ", ", "，");
}

std::vector<base::Text> describe(const Plan& plan, Room::Where where) {
  std::vector<base::Text> lines{base::say("model   {}", model_line(plan))};
  if (base::Text line = describe_trained(plan); !line.empty()) lines.push_back(std::move(line));
  if (plan.trains())
    for (base::Text& line : describe_data(plan)) lines.push_back(std::move(line));
  if (plan.data.valid_samples > 0) lines.push_back(describe_evaluation(plan));
  lines.push_back(base::say("layout  {}", layout_line(plan)));
  if (plan.trains()) lines.push_back(base::say("batch   {}", config::describe_batch(plan.resolved)));
  lines.push_back(describe_memory(plan, where));
  return lines;
}

double computing_of_step(const Plan& plan, int grid_rank) {
  const auto costs = shape::segment_costs(plan.model(), plan.resolved.batch.seq_len, plan.trained);
  double sum = 0;
  for (const schedule::Instruction& i : plan.program.ranks.at(static_cast<std::size_t>(grid_rank))) {
    if (i.kind != schedule::Kind::fwd) continue;
    const schedule::SegmentRange range = schedule::segments_of(plan.program, i);
    for (int g = range.begin; g < range.end; ++g) sum += costs[static_cast<std::size_t>(g)];
  }
  return sum;
}

namespace {

// Elements of `range` that lie in slots which the tp rank is the first to hold.
std::int64_t elements_in(const BucketShape& bucket, const shape::Range& range, int tp) {
  std::int64_t elements = 0;
  for (const shape::Slot& slot : bucket.layout.slots) {
    if (slot.first_holder != tp) continue;
    const std::int64_t begin = std::max(slot.offset, range.begin);
    const std::int64_t end = std::min(slot.offset + slot.elements(), range.end());
    elements += std::max<std::int64_t>(end - begin, 0);
  }
  return elements;
}

enum class Share { written, twin };

SavedBytes bytes_of(const Plan& plan, const mesh::Coordinate& at, Share share) {
  const int replica = mesh::replica_index(plan.shape, at);
  const bool ranges = plan.program.shards(1) && plan.replicas() > 1;
  SavedBytes bytes;
  if (!ranges && (replica > 0) != (share == Share::twin)) return bytes;
  if (ranges && share == Share::twin) return bytes;
  const bool adapters = shape::has_adapters(plan.settings().lora);
  for (const int g : plan.stages.segments_of(at.pp)) {
    for (const BucketShape& bucket : buckets_of(plan, plan.stages, g, plan.tensor_share(at))) {
      const bool own = bucket.part == BucketShape::Part::own || bucket.part == BucketShape::Part::adapter;
      if (!own || (adapters && !bucket.trained)) continue;
      const shape::Range range =
          ranges ? shard_plan(plan, bucket).elements_of(replica) : shape::Range{0, bucket.layout.elements};
      const std::int64_t elements = elements_in(bucket, range, at.tp);
      (bucket.trained ? bytes.trained : bytes.frozen) += elements * (bucket.trained ? plan.optimizer().saved_bytes() : 4);
    }
  }
  return bytes;
}

}  // namespace

SavedBytes written_bytes(const Plan& plan, const mesh::Coordinate& at) { return bytes_of(plan, at, Share::written); }
SavedBytes twin_bytes(const Plan& plan, const mesh::Coordinate& at) { return bytes_of(plan, at, Share::twin); }

void count_snapshots(Plan* plan, const std::vector<std::int64_t>& bytes) {
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
    Memory& memory = plan->memory[static_cast<std::size_t>(mesh::grid_rank_of(plan->shape, static_cast<int>(rank)))];
    memory.snapshot = std::max(memory.snapshot, bytes[rank]);
  }
}

void count_snapshots(Plan* plan) {
  std::vector<std::int64_t> bytes;
  for (int rank = 0; rank < plan->shape.world(); ++rank)
    bytes.push_back(written_bytes(*plan, mesh::coordinate_of(plan->shape, rank)).trained);
  count_snapshots(plan, bytes);
}

}  // namespace troika::plan
