#include "commands/sweep/layout_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "base/file.h"
#include "base/units.h"
#include "commands/sweep/one_run.h"
#include "config/command_line.h"
#include "config/config.h"
#include "host/worker.h"
#include "launch/flags.h"

namespace troika::commands {
using rendezvous::FailureReport;

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
  launch::LaunchFlags flags;
  for (const std::string& name : variables_of(launch::launch_flags(flags))) environment.erase(name);
  config::SettingsReading scratch;
  const std::string yaml = config::to_yaml(config::parse_settings({file}, {}).settings);
  for (const std::string& name : variables_of(config::settings_table(scratch))) {
    const auto found = environment.find(name);
    if (found != environment.end() && gives_other_settings(file, yaml, name, found->second)) environment.erase(found);
  }
  return environment;
}

// A run that ends as another host's has failed may end by itself: its launcher hears of that, too.
class EndsWithOthers {
 public:
  explicit EndsWithOthers(const SweepRounds& rounds) : rounds_(rounds) {}

  RunGoes at(double seconds) {
    constexpr double by_itself_seconds = 10;
    const auto over = rounds_.over();
    if (!over) return RunGoes::on;
    if (heard_at_ < 0) heard_at_ = seconds;
    const bool asked_to_stop = over->exit_code == base::exit_interrupted;
    return asked_to_stop || seconds - heard_at_ > by_itself_seconds ? RunGoes::to_its_end : RunGoes::on;
  }

 private:
  const SweepRounds& rounds_;
  double heard_at_ = -1;
};

std::string language_word(const SweepHost& host) { return host.speaker.language == base::Language::chinese ? "zh" : "en"; }

std::vector<std::string> launch_words(const SweepHost& host, const std::string& run_folder) {
  const launch::HostOptions& hosts = host.hosts;
  std::vector<std::string> words = {"troika", "launch", "--lang", language_word(host)};
  if (hosts.nnodes == 1) words.emplace_back("--standalone");
  if (hosts.nnodes > 1) {
    words.insert(words.end(),
                 {"--nnodes", std::to_string(hosts.nnodes), "--node-rank", std::to_string(hosts.node_rank),
                  "--master-addr", hosts.master_address, "--master-port", std::to_string(hosts.master_port + 1)});
    if (!hosts.secret_file.empty()) words.insert(words.end(), {"--secret-file", hosts.secret_file});
  }
  words.insert(words.end(), {"--nproc-per-node", std::to_string(host.nproc), "--log-dir", run_folder + "/logs"});
  if (!host.program.empty()) words.insert(words.end(), {"--program", host.program});
  return words;
}

std::string failure_file(const SweepHost& host) { return host.folder + "/failure"; }

OneRun run_of(const SweepHost& host, const sweep::SweepRow& row, const std::string& run_folder) {
  base::remove_tree(run_folder);
  base::make_directories(run_folder);
  const std::string file = run_folder + ".yaml";
  base::write_file_atomic(file, config::to_yaml(planner::with_layout(host.settings, row.layout)));
  OneRun run;
  run.program = host.troika;
  run.arguments = launch_words(host, run_folder);
  run.arguments.insert(run.arguments.end(), {"--", "train", file, "--out", run_folder});
  const std::vector<std::string> flags = planner::flags_of(row.layout);
  run.arguments.insert(run.arguments.end(), flags.begin(), flags.end());
  run.environment = environment_of_run(host.environment, file);
  run.log_path = run_folder + "/launch.log";
  run.logs_folder = run_folder + "/logs";
  run.failure_file = failure_file(host);
  run.deadline_seconds = deadline_of(host, row.predicted);
  return run;
}

OneRun preparation_of(const SweepHost& host) {
  constexpr double no_deadline = 1e9;
  const std::string file = host.folder + "/data.yaml", log = host.folder + "/data.log";
  base::write_file_atomic(file, config::to_yaml(host.settings));
  base::remove_tree(log);
  return {host.troika,
          {"troika", "data", "inspect", file, "--samples", "0", "--lang", language_word(host)},
          environment_of_run(host.environment, file),
          log,
          "",
          failure_file(host),
          no_deadline};
}

// How a run ended that left nothing to measure.
void judge(const OneRunEnd& end, const OneRun& run, const std::optional<FailureReport>& over, sweep::SweepRow& row) {
  switch (end.cause) {
    case OneRunEnd::Cause::stop_signal:
      row.status = sweep::SweepStatus::interrupted;
      row.reason = base::say(stop_reason);
      return;
    case OneRunEnd::Cause::asked:
      row.status =
          over->exit_code == base::exit_interrupted ? sweep::SweepStatus::interrupted : sweep::SweepStatus::failed;
      row.reason = over->said();
      return;
    case OneRunEnd::Cause::deadline:
      row.status = sweep::SweepStatus::timeout;
      row.reason = base::say("did not end within {}; {} has its output",
                             base::format_duration(run.deadline_seconds), run.log_path);
      return;
    case OneRunEnd::Cause::by_itself:  // its launcher may have heard first that another was asked to stop
      row.status =
          end.exit_code == base::exit_interrupted ? sweep::SweepStatus::interrupted : sweep::SweepStatus::failed;
      row.reason = reason_of(end, run);
  }
}

}  // namespace

std::optional<FailureReport> HostPart::prepare_data(const std::function<void(const std::string&)>& on_line) const {
  const OneRun run = preparation_of(host_);
  EndsWithOthers others(rounds_);
  std::string last;  // a line that stays is progress; what the end says is told as its result
  const OneRunEnd end = run_one(run, signals_, [&](double seconds) {
    std::string line = host::last_lines(run.log_path, 0, 1);
    if (line == last) on_line(line);
    last = std::move(line);
    return others.at(seconds);
  });
  std::optional<FailureReport> problem;
  if (end.cause == OneRunEnd::Cause::asked)
    problem = rounds_.over();
  else if (end.cause == OneRunEnd::Cause::stop_signal)
    problem = FailureReport{base::exit_interrupted, base::say(stop_reason)};
  else if (end.exit_code != 0 || end.signal != 0)
    problem = FailureReport{end.signal != 0 ? base::exit_peer_lost : end.exit_code,
                            reason_of(end, run)};
  if (problem) rounds_.fail(*problem);
  return problem;
}

sweep::SweepRow HostPart::run_layout(sweep::SweepRow row,
                                     const std::function<sweep::SweepMeasured(const std::string&)>& measure,
                                     const OnMoment& on_moment) const {
  const std::string run_folder = host_.folder + "/runs/" + folder_name_of(row.layout);
  const OneRun run = run_of(host_, row, run_folder);
  EndsWithOthers others(rounds_);
  const OneRunEnd end = run_one(run, signals_, [&](double seconds) {
    on_moment(seconds);
    return others.at(seconds);
  });
  row.seconds = end.seconds;
  try {
    if (end.cause == OneRunEnd::Cause::by_itself && end.exit_code == 0 && end.signal == 0) {
      row.measured = measure(run_folder);
      row.status = sweep::SweepStatus::ok;
      row.reason = {};
      return row;
    }
    judge(end, run, rounds_.over(), row);
  } catch (const base::DataError& error) {
    row.reason = one_line(base::text_of(error));
  }
  rounds_.fail({row.status == sweep::SweepStatus::interrupted ? base::exit_interrupted : base::exit_peer_lost,
                row.reason});
  return row;
}

config::Settings measuring_settings(config::Settings settings, std::int64_t steps, const std::string& folder) {
  settings.train.steps = steps;
  settings.train.out = folder;  // each run has another
  settings.train.resume = "never";
  settings.train.profile = std::to_string(steps);
  settings.train.eval_every = 0;
  settings.train.early_stopping_patience = 0;
  settings.train.recompute_audit_every = 0;
  settings.optimizer.warmup_steps = std::min(settings.optimizer.warmup_steps, steps);
  if (settings.optimizer.lr_schedule == config::LrSchedule::wsd)
    settings.optimizer.decay_steps = 0, settings.optimizer.decay_ratio = 0;
  settings.batch.find_micro_batch_size = false;
  settings.data.valid.clear();
  settings.data.valid_share = 0;
  if (settings.data.cache.empty()) settings.data.cache = folder + "/data";
  settings.checkpoint.every = 0;
  settings.checkpoint.every_minutes = 0;
  settings.checkpoint.at_end = false;
  settings.checkpoint.async = config::OnOff::off;
  settings.log.progress = config::Progress::none;
  if (settings.log.sample_seconds <= 0) settings.log.sample_seconds = config::LogSettings{}.sample_seconds;
  return settings;
}

std::string folder_name_of(const planner::Layout& layout) {
  return fmt::format("dp{}-pp{}-tp{}-cp{}-zero{}-{}-v{}-mb{}-recompute_{}-offload_{}-{}", layout.dp, layout.pp,
                     layout.tp, layout.cp, layout.zero, config::word_of(layout.schedule), layout.virtual_stages,
                     layout.micro, config::word_of(layout.recompute), config::word_of(layout.offload),
                     config::word_of(layout.precision));
}

double deadline_of(const SweepHost& host, const sweep::SweepPredicted& predicted) {
  constexpr double least_seconds = 60, generously = 20;
  const double seconds = predicted.step_seconds * static_cast<double>(host.settings.train.steps);
  return host.deadline_seconds.value_or(std::max(least_seconds, generously * seconds));
}

}  // namespace troika::commands
