#include "plan/describe.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/units.h"
#include "config/presets.h"
#include "shape/adapter.h"

namespace troika::plan {
namespace {

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
  if (!model.path.empty()) return fmt::format("{} ({})", model.path, word_of(model.architecture));
  return model.preset == config::no_preset ? word_of(model.architecture) : model.preset;
}

// Empty when all is trained.
std::string describe_trained(const Plan& plan) {
  std::int64_t trained = 0, all = shape::parameter_count(plan.model());
  for (const auto& info : plan.trained_parameters()) trained += info.elements();
  if (shape::has_adapters(plan.trained.lora)) all += trained;
  if (!plan.trains() || trained == all) return "";
  const std::string& other_ranks = plan.trained.lora.rank_pattern;
  return fmt::format("trains  {} of {} parameters ({:.2f} %){}", base::format_count(trained), base::format_count(all),
                     100 * static_cast<double>(trained) / static_cast<double>(all),
                     shape::has_adapters(plan.trained.lora)
                         ? fmt::format(", adapters of rank {}{} beside frozen weights", plan.trained.lora.rank,
                                       other_ranks.empty() ? "" : " (" + other_ranks + ")")
                         : "");
}

std::string describe_data(const Plan& plan) {
  const std::int64_t seq_len = plan.settings().batch.seq_len;
  if (plan.data.tokens == 0)
    return fmt::format("data    random tokens, {} of samples of {}", base::counted(plan.steps, "step"), seq_len);
  return fmt::format(
      "data    {} {}, {} of {}; {} {} {:.2f} epochs", base::format_count(plan.data.tokens),
      base::noun_of(plan.data.tokens, "token"), base::counted(plan.data.samples, "sample"), seq_len,
      base::counted(plan.steps, "step"), plan.steps == 1 ? "is" : "are",
      static_cast<double>(plan.steps * plan.resolved.batch.global) / static_cast<double>(plan.data.samples));
}

std::string describe_evaluation(const Plan& plan) {
  const std::int64_t every = plan.settings().train.eval_every;
  const std::string when =
      !plan.trains() ? std::string("once")
      : every > 0    ? fmt::format("every {}and at the end", every == 1 ? "step " : fmt::format("{} steps ", every))
                     : std::string("at the end");
  return fmt::format("valid   {} of {}, evaluated {}", base::counted(plan.data.valid_samples, "sample"),
                     plan.settings().batch.seq_len, when);
}

std::string describe_memory(const Plan& plan, Room::Where where) {
  Memory largest;
  std::size_t of = 0;
  for (std::size_t rank = 0; rank < plan.memory.size(); ++rank) {
    const Memory memory = memory_in(plan, static_cast<int>(rank), where);
    if (memory.total() <= largest.total()) continue;
    largest = memory;
    of = rank;
  }
  const std::string text = "memory  largest rank " + describe(largest);
  if (where == Room::Where::host) return text;
  const Memory host = memory_in(plan, static_cast<int>(of), Room::Where::host_of_gpu);
  return text + fmt::format(" of its GPU, {} of the host", base::format_bytes(host.with_saving()));
}

}  // namespace

std::string model_line(const Plan& plan) {
  const config::ModelSettings& model = plan.settings().model;
  return fmt::format("{}: {}, width {}, {} parameters, vocabulary {}", name_of(model),
                     base::counted(model.layers, "layer"), model.hidden,
                     base::format_count(shape::parameter_count(model)), model.vocab);
}

std::string layout_line(const Plan& plan) {
  const auto& p = plan.settings().parallel;
  std::string cuts;
  for (int stage = 0; stage < plan.program.stages(); ++stage) {
    cuts += fmt::format("{}{}-{}", cuts.empty() ? "" : ", ", plan.program.first_segment(stage),
                        plan.program.end_segment(stage) - 1);
  }
  std::string text = axes(plan.shape);
  if (plan.trains()) text += ", schedule " + (p.schedule_file.empty() ? word_of(p.schedule) : p.schedule_file);
  text += ", segments per stage: " + cuts;
  if (plan.program.shards(1)) text += fmt::format(", ZeRO {}", p.zero);
  if (plan.shape.tp > 1 && p.sequence_parallel) text += ", sequence parallel";
  const bool said_by_file = !p.schedule_file.empty() && p.recompute == config::Recompute::full;
  if (plan.trains() && p.recompute != config::Recompute::none && !said_by_file)
    text += ", recompute " + word_of(p.recompute);
  if (plan.trains() && p.offload != config::Offload::none) text += ", optimizer state in " + word_of(p.offload);
  if (plan.precision() != config::Precision::fp32) text += ", " + word_of(plan.precision());
  return text;
}

std::vector<std::string> describe(const Plan& plan, Room::Where where) {
  std::vector<std::string> lines{"model   " + model_line(plan)};
  if (const std::string line = describe_trained(plan); !line.empty()) lines.push_back(line);
  if (plan.trains()) lines.push_back(describe_data(plan));
  if (plan.data.valid_samples > 0) lines.push_back(describe_evaluation(plan));
  lines.push_back("layout  " + layout_line(plan));
  if (plan.trains()) lines.push_back("batch   " + config::describe_batch(plan.resolved));
  lines.push_back(describe_memory(plan, where));
  return lines;
}

}  // namespace troika::plan
