#include "serve/run_plan.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/text.h"
#include "config/config.h"
#include "host/nvidia.h"
#include "mesh/mesh.h"
#include "planner/estimate.h"
#include "planner/step_costs.h"
#include "planner/machines.h"
#include "records/run_reader.h"
#include "schedule/simulate/simulator.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr records::Kept kept_for_plan{100, 1, 1, 64 << 10};

std::int64_t bytes_in(const records::Sample& sample, const char* name) {
  const auto found = sample.memory.find(name);
  return found == sample.memory.end() ? 0 : found->second;
}

// Words of the answer and names in samples; buffers: what is being saved while training continues.
constexpr std::array<std::pair<const char*, const char*>, 5> memory_classes = {{{"parameters", "parameters"},
                                                                                {"gradients", "gradients"},
                                                                                {"state", "state"},
                                                                                {"activations", "activations"},
                                                                                {"buffers", "snapshot"}}};

std::int64_t bytes_of_tensors(const records::Sample& sample) {
  std::int64_t bytes = 0;
  for (const auto& [word, name] : memory_classes) bytes += bytes_in(sample, name);
  return bytes;
}

// The memory of a process beside tensors differs by chance, so the tensors decide which rank holds most, as in the plan.
Json measured_memory(const records::RunReader& run) {
  const std::map<int, records::Sample> samples = records::newest(run);
  const auto most = std::max_element(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
    return bytes_of_tensors(a.second) < bytes_of_tensors(b.second);
  });
  Json memory = Json::object();
  if (most == samples.end()) return memory;
  for (const auto& [word, name] : memory_classes) memory[word] = bytes_in(most->second, name);
  const std::int64_t beside = bytes_in(most->second, "resident") - bytes_of_tensors(most->second);
  memory["program"] = std::max<std::int64_t>(0, beside);
  return memory;
}

// How much is saved beside training is decided when the run begins.
Json predicted_memory(const plan::Memory& memory) {
  return {{"parameters", memory.parameters},
          {"gradients", memory.gradients},
          {"state", memory.state},
          {"activations", memory.activations},
          {"buffers", memory.snapshot > 0 ? Json(memory.snapshot) : Json(nullptr)},
          {"program", memory.program}};
}

// The median of the last steps: the first of an attempt is longer.
Json measured_seconds(const records::RunReader& run) {
  std::vector<double> seconds;
  for (const metrics::StepMetrics& row : run.steps())
    if (std::isfinite(row.step_seconds)) seconds.push_back(row.step_seconds);
  if (seconds.empty()) return nullptr;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

Json lengths_json(const records::RunReader& run) {
  return run.state() && run.state()->lengths ? Json(records::to_json_object(*run.state()->lengths)) : Json(nullptr);
}

struct Predicted {
  Json memory = Json::object(), seconds = nullptr;
  std::vector<std::string> notes;
};

Predicted predicted(const std::string& folder, const records::RunReader& run, const config::Environment& environment,
                    base::Language language) {
  Predicted result;
  const auto without = [&](const base::Text& why) {
    result.notes.push_back(base::say("No memory is predicted: {0}", why).in(language));
    return result;
  };
  const std::optional<RunSize> size = size_of_run(run.state());
  if (!last_config(folder)) return without(base::say("the run has no config.yaml."));
  if (!size) return without(base::say("the number of ranks is unknown."));
  try {
    const PlannedStep step = planned_step(plan_of_run(folder, *size), *size, environment, language);
    result.memory = predicted_memory(step.memory);
    result.notes = step.notes;
    if (step.seconds)
      result.seconds = *step.seconds;
    else
      result.notes.push_back(base::say("No seconds are predicted: {0}", step.why_no_seconds.value_or(base::Text{})).in(language));
  } catch (const Refused& refused) {
    return without(refused.text);
  } catch (const base::Error& error) {
    return without(base::text_of(error));
  }
  return result;
}

constexpr std::size_t most_lanes = 256, most_instructions = 400'000;

bool trains_on_cores(const config::Settings& settings) {
  const auto kind = config::word_or(settings.train.device, config::DeviceKind::numbered);
  return kind == config::DeviceKind::cpu || kind == config::DeviceKind::automatic;
}

std::string model_of_gpus() {
  const auto all = host::nvidia_neighbours(std::nullopt);
  if (all.empty()) throw base::ConfigError(base::say("this machine has no visible NVIDIA device"));
  return all.front().model;
}

planner::ThisMachine machine_like(const plan::Plan& plan, int hosts, int ranks_per_host,
                                  const config::Environment& environment) {
  planner::ThisMachine here = trains_on_cores(plan.settings())
                                  ? planner::this_machine(planner::machine_file(environment))
                                  : planner::accelerators_of_this_machine(model_of_gpus(), ranks_per_host);
  if (here.cluster.hosts.empty()) throw base::ConfigError(base::say("the machine file names no host"));
  here.cluster.hosts.resize(1);
  here.cluster.pairs.clear();
  machine::Host& host = here.cluster.hosts.front();
  host.count = hosts;
  if (here.cluster.network.bytes_per_second <= 0) here.cluster.network = host.inside;
  return here;
}

planner::Column column_of(const plan::Plan& plan, const machine::Placement& placement) {
  if (plan.program.ranks.size() > most_lanes && placement.uniform())
    return planner::make_column(plan, plan.stages, planner::Pipelines::one);
  return {plan, plan.stages, plan.program, planner::Pipelines::whole};
}

const plan::Memory& largest(const std::vector<plan::Memory>& memory) {
  return *std::max_element(memory.begin(), memory.end(),
                           [](const auto& a, const auto& b) { return a.total() < b.total(); });
}

double end_of(const schedule::StepTrace& trace) {
  double end = 0;
  for (const schedule::RankTimeline& rank : trace.ranks)
    for (const schedule::Event& event : rank.events) end = std::max(end, event.end_seconds);
  return end;
}

void refuse_large(const plan::Plan& plan) {
  std::size_t instructions = 0;
  for (const auto& of_rank : plan.program.ranks) instructions += of_rank.size();
  if (instructions > most_instructions)
    throw Refused{404, base::say("a step has {} instructions, more than the {} that the page simulates", instructions, most_instructions)};
}

// The run knew its machines when it predicted the step.
void scale_to(double predicted_seconds, PlannedStep* step) {
  const double ratio = predicted_seconds / *step->seconds;
  for (schedule::RankTimeline& lane : step->trace.ranks) {
    for (schedule::Event& event : lane.events) {
      event.begin_seconds *= ratio;
      event.end_seconds *= ratio;
    }
  }
  step->seconds = predicted_seconds;
}

void place_lanes(const planner::Column& column, const RunSize& size, int ranks_per_host, schedule::StepTrace* trace) {
  for (schedule::RankTimeline& lane : trace->ranks) {
    lane.world_rank = column.world_rank_of(lane.grid_rank);
    const auto host = static_cast<std::size_t>(lane.world_rank / ranks_per_host);
    if (host < size.hosts.size()) lane.host = size.hosts[host];
  }
}

}  // namespace

std::string plan_json_of_run(const std::string& folder, const config::Environment& environment,
                             base::Language language) {
  records::RunReader run(folder, kept_for_plan);
  run.refresh();
  Predicted plan = predicted(folder, run, environment, language);
  Json measured = measured_memory(run);
  if (measured.empty()) plan.notes.emplace_back(base::Phrase("Nothing has been measured yet: no rank has reported.").in(language));
  const Json answer = {{"memory", {{"predicted", std::move(plan.memory)}, {"measured", std::move(measured)}}},
                       {"step_seconds", {{"predicted", std::move(plan.seconds)}, {"measured", measured_seconds(run)}}},
                       {"lengths", lengths_json(run)},
                       {"notes", plan.notes}};
  return json_line(answer);
}

plan::Plan plan_of_run(const std::string& folder, const RunSize& size) {
  const std::optional<ConfigFile> config = last_config(folder);
  if (!config) throw base::DataError(base::say("{} has no config.yaml", folder));
  config::Settings settings = config::settings_from_yaml(config->yaml, config->name);
  settings.batch.find_micro_batch_size = false;
  settings.parallel.schedule_file.clear();  // nothing that settings name is opened here
  plan::DataFacts facts;
  facts.vocab = settings.model.vocab;
  facts.samples = 1;  // the number of steps is settled
  if (size.lengths) facts.sizes = plan::sizes_of(*size.lengths);
  return plan::make_plan(config::resolve(settings, size.ranks), facts);
}

PlannedStep planned_step(const plan::Plan& plan, const RunSize& size, const config::Environment& environment,
                         base::Language language) {
  refuse_large(plan);
  const int hosts = std::max<int>(1, static_cast<int>(size.hosts.size()));
  const int ranks_per_host = std::max(1, (size.ranks + hosts - 1) / hosts);
  PlannedStep step;
  step.memory = largest(plan.memory);
  try {
    const planner::ThisMachine here = machine_like(plan, hosts, ranks_per_host, environment);
    const machine::Placement placement(here.cluster, plan.shape.world(), ranks_per_host);
    const planner::Column column = column_of(plan, placement);
    const planner::StepCosts costs(column, placement);
    step.trace = schedule::simulate(column.program, costs.model());
    step.memory = planner::need_of(column, placement).memory;
    step.seconds = end_of(step.trace);
    place_lanes(column, size, ranks_per_host, &step.trace);
    if (size.predicted_seconds > 0) {
      scale_to(size.predicted_seconds, &step);
      return step;
    }
    const std::string own = base::host_name();
    if (here.rates == planner::ThisMachine::Rates::of_a_profile && trains_on_cores(plan.settings()))
      step.notes.push_back(base::say("The seconds are predicted with typical rates, which may be off by a factor of two: `troika probe` measures this host's.").in(language));
    if (size.hosts != std::vector<std::string>{own} && !size.hosts.empty())
      step.notes.push_back(base::say("The seconds are predicted as if all ranks ran on hosts like this one ({0}); the run's are: {1}.", own, base::join(size.hosts, ", ")).in(language));
  } catch (const base::ConfigError& error) {
    const planner::Column column{plan, plan.stages, plan.program, planner::Pipelines::whole};
    step.trace = schedule::simulate(plan.program, schedule::unit_costs());
    place_lanes(column, size, ranks_per_host, &step.trace);
    step.why_no_seconds = base::text_of(error);
  }
  return step;
}

}  // namespace troika::serve
