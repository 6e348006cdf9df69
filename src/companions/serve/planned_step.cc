#include "serve/planned_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/text.h"
#include "config/config.h"
#include "host/nvidia_neighbours.h"
#include "mesh/mesh.h"
#include "planner/estimate.h"
#include "planner/step_costs.h"
#include "planner/machines.h"
#include "schedule/simulate/simulator.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

constexpr std::size_t most_lanes = 256, most_instructions = 400'000;

template <class... Arguments>
std::string said(base::Language language, base::Phrase text, const Arguments&... arguments) {
  return fmt::format(fmt::runtime(text.in(language)), arguments...);
}

bool trains_on_cores(const config::Settings& settings) {
  const auto kind = config::word_or(settings.train.device, config::DeviceKind::numbered);
  return kind == config::DeviceKind::cpu || kind == config::DeviceKind::automatic;
}

std::string model_of_gpus() {
  const auto all = host::nvidia_neighbours(std::nullopt);
  if (all.empty()) throw base::ConfigError(base::say("this machine shows no NVIDIA device"));
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

void place_lanes(const planner::Column& column, const RunSize& size, int ranks_per_host, schedule::StepTrace* trace) {
  for (schedule::RankTimeline& lane : trace->ranks) {
    lane.world_rank = column.world_rank_of(lane.grid_rank);
    const auto host = static_cast<std::size_t>(lane.world_rank / ranks_per_host);
    if (host < size.hosts.size()) lane.host = size.hosts[host];
  }
}

}  // namespace

plan::Plan plan_of_run(const std::string& folder, int ranks) {
  const std::optional<ConfigFile> config = last_config(folder);
  if (!config) throw base::DataError(base::say("{} has no config.yaml", folder));
  config::Settings settings = config::settings_from_yaml(config->yaml, config->name);
  settings.batch.find_micro_batch_size = false;
  settings.parallel.schedule_file.clear();  // nothing that settings name is opened here
  plan::DataFacts facts;
  facts.vocab = settings.model.vocab;
  facts.samples = 1;  // the number of steps is settled
  return plan::make_plan(config::resolve(settings, ranks), facts);
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
    const std::string own = base::host_name();
    if (here.rates == planner::ThisMachine::Rates::of_a_profile && trains_on_cores(plan.settings()))
      step.notes.push_back(said(language, base::Phrase("The seconds are predicted with usual rates, which may be off by a factor of two: `troika probe` measures this host's.")));
    if (size.hosts != std::vector<std::string>{own} && !size.hosts.empty())
      step.notes.push_back(said(language, base::Phrase("The seconds are predicted as if all ranks ran on hosts like this one ({0}); the run's are: {1}."), own, base::join(size.hosts, ", ")));
  } catch (const base::ConfigError& error) {
    const planner::Column column{plan, plan.stages, plan.program, planner::Pipelines::whole};
    step.trace = schedule::simulate(plan.program, schedule::unit_costs());
    place_lanes(column, size, ranks_per_host, &step.trace);
    step.why_no_seconds = base::text_of(error);
  }
  return step;
}

}  // namespace troika::serve
