#include "commands/sweep/layout_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "commands/launch/flags.h"
#include "commands/sweep/kept.h"
#include "commands/sweep/one_run.h"
#include "commands/sweep/summary_csv.h"
#include "config/command_line.h"
#include "config/config.h"

namespace troika::commands {
namespace {

std::vector<std::string> variables_of(const config::FlagTable& table) {
  std::vector<std::string> names;
  for (const config::FlagRow& row : table.rows())
    names.insert(names.end(), row.flag->variables.begin(), row.flag->variables.end());
  return names;
}

bool gives_other_settings(const std::string& file, const std::string& yaml, const std::string& name,
                          const std::string& value) {
  try {
    return config::to_yaml(config::parse_settings({file}, {{name, value}}).settings) != yaml;
  } catch (const base::Error&) {
    return true;
  }
}

// Without what would say something else than the file and the command line of a run.
config::Environment environment_of_run(config::Environment environment, const std::string& file) {
  LaunchFlags flags;
  for (const std::string& name : variables_of(launch_flags(flags))) environment.erase(name);
  config::SettingsReading scratch;
  const std::string yaml = config::to_yaml(config::parse_settings({file}, {}).settings);
  for (const std::string& name : variables_of(config::settings_table(scratch))) {
    const auto found = environment.find(name);
    if (found != environment.end() && gives_other_settings(file, yaml, name, found->second)) environment.erase(found);
  }
  return environment;
}

class LayoutRuns {
 public:
  LayoutRuns(const SweepPlan& plan, Signals& signals, SweepProgress& progress)
      : plan_(plan), signals_(signals), progress_(progress), step_(step_of(plan)), left_(step_.steps) {}

  SweepOutcome run();

 private:
  bool has_row(const planner::Estimate& estimate) const {
    const SweepRow* row = find_row(outcome_.rows, estimate.layout);
    return row != nullptr && !is_to_be_run_again(*row, deadline_of(plan_, estimate));
  }
  void predict_again();
  SweepRow run_one_layout(const planner::Estimate& estimate);
  OneRun prepare(const planner::Estimate& estimate, const std::string& run_folder) const;
  void judge(const OneRunEnd& end, double deadline_seconds, const std::string& run_folder, SweepRow& row) const;
  void keep(const SweepRow& row);

  const SweepPlan& plan_;
  Signals& signals_;
  SweepProgress& progress_;
  const SweepStep step_;
  TimeLeft left_;
  std::size_t number_ = 0;  // of the layout at work, from 1
  SweepOutcome outcome_;
};

SweepOutcome LayoutRuns::run() {
  outcome_.rows = kept_rows(plan_.folder);
  predict_again();
  for (const planner::Estimate& estimate : plan_.estimates)
    if (!has_row(estimate)) left_.add(estimate.time.step);
  for (const planner::Estimate& estimate : plan_.estimates) {
    ++number_;
    if (has_row(estimate)) continue;
    left_.begin(estimate.time.step);
    const SweepRow row = run_one_layout(estimate);
    left_.finished(row);
    keep(row);
    progress_.finished(number_, row, left_.seconds(0));
    outcome_.interrupted = row.status == SweepStatus::interrupted;
    if (outcome_.interrupted) break;
  }
  return outcome_;
}

void LayoutRuns::predict_again() {
  for (SweepRow& row : outcome_.rows) {
    for (const planner::Estimate& estimate : plan_.estimates)
      if (row.layout == estimate.layout) row.predicted = predicted_of(estimate);
  }
}

SweepRow LayoutRuns::run_one_layout(const planner::Estimate& estimate) {
  SweepRow row;
  row.layout = estimate.layout;
  row.predicted = predicted_of(estimate);
  const std::string name = planner::name_of(estimate.layout);
  const std::string run_folder = plan_.folder + "/runs/" + folder_name_of(estimate.layout);
  const OneRun run = prepare(estimate, run_folder);
  const OneRunEnd end =
      run_one(run, signals_, [&](double seconds) { progress_.running(number_, name, left_.seconds(seconds)); });
  row.seconds = end.seconds;
  judge(end, run.deadline_seconds, run_folder, row);
  return row;
}

OneRun LayoutRuns::prepare(const planner::Estimate& estimate, const std::string& run_folder) const {
  base::remove_tree(run_folder);
  base::make_directories(run_folder);
  const std::string file = run_folder + ".yaml";
  const config::Settings settings = planner::with_layout(plan_.settings, estimate.layout);
  base::write_file_atomic(file, config::to_yaml(settings));
  OneRun run;
  run.program = plan_.troika;
  run.arguments = {"troika",
                   "launch",
                   "--standalone",
                   "--nproc-per-node",
                   std::to_string(plan_.nproc),
                   "--log-dir",
                   run_folder + "/logs"};
  if (!plan_.program.empty()) run.arguments.insert(run.arguments.end(), {"--program", plan_.program});
  run.arguments.insert(run.arguments.end(), {"--", "train", file, "--out", run_folder});
  const std::vector<std::string> flags = planner::flags_of(estimate.layout);
  run.arguments.insert(run.arguments.end(), flags.begin(), flags.end());
  run.environment = environment_of_run(plan_.environment, file);
  run.log_path = run_folder + "/launch.log";
  run.deadline_seconds = deadline_of(plan_, estimate);
  return run;
}

void LayoutRuns::judge(const OneRunEnd& end, double deadline_seconds, const std::string& run_folder,
                       SweepRow& row) const {
  switch (end.cause) {
    case OneRunEnd::Cause::stop_signal:
      row.status = SweepStatus::interrupted;
      row.reason = "a signal asked the sweep to stop";
      return;
    case OneRunEnd::Cause::deadline:
      row.status = SweepStatus::timeout;
      row.reason = fmt::format("did not end within {}; {}/launch.log has what it said",
                               base::format_duration(deadline_seconds), run_folder);
      return;
    case OneRunEnd::Cause::by_itself:
      break;
  }
  try {
    if (end.exit_code != 0 || end.signal != 0) {
      row.reason = reason_of(end, base::read_file(run_folder + "/launch.log"));
      return;
    }
    row.measured = measured_in(run_folder, step_);
    row.status = SweepStatus::ok;
  } catch (const base::DataError& error) {
    row.reason = reason_of(end, std::string("troika: ") + error.what());
  }
}

void LayoutRuns::keep(const SweepRow& row) {
  SweepRows& rows = outcome_.rows;
  rows.erase(std::remove_if(rows.begin(), rows.end(), [&](const SweepRow& old) { return old.layout == row.layout; }),
             rows.end());
  rows.push_back(row);
  base::write_file_atomic(plan_.folder + "/summary.csv", to_csv(rows));
}

}  // namespace

config::Settings measuring_settings(config::Settings settings, std::int64_t steps, const std::string& folder) {
  settings.train.steps = steps;
  settings.train.out = folder;  // each run has another
  settings.train.resume = "never";
  settings.train.profile = std::to_string(steps);
  settings.train.eval_every = 0;
  settings.train.recompute_audit_every = 0;
  settings.optimizer.warmup_steps = std::min(settings.optimizer.warmup_steps, steps);
  settings.batch.find_micro_batch_size = false;
  settings.data.valid.clear();
  settings.data.valid_share = 0;
  if (settings.data.cache.empty()) settings.data.cache = folder + "/data";
  settings.checkpoint.every = 0;
  settings.checkpoint.every_minutes = 0;
  settings.checkpoint.at_end = false;
  settings.checkpoint.async = config::OnOff::off;
  settings.log.progress = config::Progress::none;
  return settings;
}

SweepStep step_of(const SweepPlan& plan) {
  const planner::Estimate& one = plan.estimates.at(0);
  return {plan.settings.train.steps, one.layout.global, one.tokens};
}

double deadline_of(const SweepPlan& plan, const planner::Estimate& estimate) {
  constexpr double least_seconds = 60, generously = 20;
  const double predicted = estimate.time.step * static_cast<double>(plan.settings.train.steps);
  return plan.deadline_seconds.value_or(std::max(least_seconds, generously * predicted));
}

SweepOutcome run_layouts(const SweepPlan& plan, Signals& signals, SweepProgress& progress) {
  base::make_directories(plan.folder);
  const base::FileLock alone(plan.folder + "/lock", [&] {
    throw base::ConfigError(fmt::format("another sweep works in {}: let it end, or choose another --out", plan.folder));
  });
  planner::Layout any;
  any.global = step_of(plan).samples;
  keep_basis(plan.folder, {planner::with_layout(plan.settings, any), plan.nproc});
  return LayoutRuns(plan, signals, progress).run();
}

std::string folder_name_of(const planner::Layout& layout) {
  return fmt::format("dp{}-pp{}-tp{}-cp{}-zero{}-{}-v{}-mb{}-recompute_{}-offload_{}-{}", layout.dp, layout.pp,
                     layout.tp, layout.cp, layout.zero, config::word_of(layout.schedule), layout.virtual_stages,
                     layout.micro, config::word_of(layout.recompute), config::word_of(layout.offload),
                     config::word_of(layout.precision));
}

}  // namespace troika::commands
