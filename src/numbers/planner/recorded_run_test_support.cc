#include "planner/recorded_run_test_support.h"

#include "base/file.h"
#include "config/config.h"
#include "plan/instruction_units.h"
#include "plan/plan_test_support.h"
#include "schedule/schedule.h"

namespace troika::planner {

using schedule::Instruction;
using schedule::Kind;

MadeUpHosts host_for_each(int ranks) {
  MadeUpHosts hosts;
  for (int rank = 0; rank < ranks; ++rank) {
    hosts.speeds.push_back(1 + 0.25 * rank);
    hosts.host_of_rank.push_back(rank);
  }
  return hosts;
}

static double made_up_seconds(const plan::Plan& plan, const std::vector<double>& costs, const Instruction& i) {
  if (schedule::is_computation(i.kind)) {
    const bool forward =
        schedule::has_pass(i.kind, schedule::forward_pass) || schedule::has_pass(i.kind, schedule::recompute_pass);
    return (forward ? 1e-8 : 2e-8) * plan::units_of(plan, costs, i);
  }
  if (i.kind == Kind::load) return 1e-6 * static_cast<double>(plan.resolved.batch.micro);
  if (i.kind == Kind::step) return 1e-8 * plan::trained_elements(plan, i);
  return i.kind == Kind::norm ? 0.002 : 0;
}

Replay made_up(const plan::Plan& plan, const MadeUpHosts& hosts, const schedule::Link& link) {
  Replay replay;
  replay.plan = &plan;
  replay.host_of_rank = hosts.host_of_rank;
  replay.links.between = link;
  replay.host_factors.assign(hosts.speeds.size(), 1);
  replay.taken = [&plan, hosts, costs = plan::segment_costs(plan)](int rank, const Instruction& i) {
    return Taken{made_up_seconds(plan, costs, i) / hosts.speeds[static_cast<std::size_t>(rank)], 0};
  };
  return replay;
}

plan::Plan made_up_plan(int dp, int pp, int zero, std::int64_t micro) {
  config::Settings settings = plan::small_settings();
  settings.parallel.dp = dp;
  settings.parallel.pp = pp;
  settings.parallel.zero = zero;
  settings.batch.micro_batch_size = micro;
  return plan::small_plan(settings, dp * pp);
}

void write_run(const std::string& run, const plan::Plan& plan, const Replay& replay, std::int64_t step,
               SaysItsLink says) {
  schedule::StepTrace trace = simulate(replay);
  trace.step = step;
  if (says == SaysItsLink::yes) trace.link = replay.links.between;
  for (schedule::RankTimeline& timeline : trace.ranks)
    timeline.host = "h" + std::to_string(replay.host_of_rank[static_cast<std::size_t>(timeline.grid_rank)]);
  base::make_directories(run + "/timeline");
  base::write_file_atomic(run + "/config.yaml", config::to_yaml(plan.resolved.settings));
  base::write_file_atomic(run + "/program.txt", schedule::to_text(plan.program));
  base::write_file_atomic(run + "/timeline/" + schedule::merged_trace_name(step), schedule::write_chrome(trace));
}

double seconds_of_step(const Replay& replay) { return schedule::summarize(simulate(replay)).step_seconds; }

}  // namespace troika::planner
