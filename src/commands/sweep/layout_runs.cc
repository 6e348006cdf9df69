#include "commands/sweep/layout_run.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "host/lock_file.h"
#include "sweep/row.h"

namespace troika::commands {
using rendezvous::FailureReport;

namespace {

// A task is this word, or a table with one row: a layout and what is predicted of it. An answer is such a table, too.
constexpr const char* preparation = "prepare the data";

sweep::SweepRow row_in(const std::string& text) {
  const sweep::SweepRows rows = sweep::parse_csv(text, "what another host says");
  if (rows.size() != 1) throw base::DataError(base::say("another host reports {} rows instead of one", rows.size()));
  return rows.front();
}

[[noreturn]] void throw_as(const FailureReport& report) {
  if (report.exit_code == base::exit_interrupted) throw launch::Stopped();
  if (report.exit_code == 2) throw base::ConfigError(report.said(), report.incident.cause);
  if (report.exit_code == 3) throw base::DataError(report.said(), report.incident.cause);
  throw base::PeerError(report.said(), report.incident.cause);
}

class LayoutRuns {
 public:
  LayoutRuns(const SweepPlan& plan, SweepRounds& rounds, host::Signals& signals, sweep::SweepProgress& progress)
      : plan_(plan),
        rounds_(rounds),
        progress_(progress),
        part_(plan.host, rounds, signals),
        step_(step_of(plan)),
        left_(step_.steps) {}

  SweepOutcome run();

 private:
  bool has_row(const planner::Estimate& estimate) const {
    const sweep::SweepRow* row = sweep::find_row(outcome_.rows, estimate.layout);
    return row != nullptr && !sweep::is_to_be_run_again(*row, deadline_of(plan_.host, sweep::predicted_of(estimate)));
  }
  void predict_again();
  void stop_all();
  void prepare();
  void run_all();
  sweep::SweepRow run_one_layout(const planner::Estimate& estimate);
  void take_in(const std::map<int, std::string>& answers, sweep::SweepRow& row);
  void keep(const sweep::SweepRow& row);

  const SweepPlan& plan_;
  SweepRounds& rounds_;
  sweep::SweepProgress& progress_;
  const HostPart part_;
  const sweep::SweepStep step_;
  sweep::TimeLeft left_;
  std::size_t number_ = 0;  // of the layout at work, from 1
  bool prepared_ = false;   // on all hosts
  SweepOutcome outcome_{{}, {0, base::Text{}}};
};

SweepOutcome LayoutRuns::run() {
  outcome_.rows = sweep::kept_rows(plan_.host.folder);
  predict_again();
  for (const planner::Estimate& estimate : plan_.estimates)
    if (!has_row(estimate)) left_.add(estimate.time.step);
  try {
    prepare();
    run_all();
    if (outcome_.end.exit_code == 0) run_all();  // what lost a host
  } catch (const launch::Stopped&) {
    stop_all();
  } catch (const launch::CalledOff& by_another) {
    outcome_.end = by_another.report;
  } catch (const base::PeerError& error) {
    outcome_.end = {error.exit_code(), base::text_of(error)};
  }
  return outcome_;
}

void LayoutRuns::predict_again() {
  for (sweep::SweepRow& row : outcome_.rows) {
    for (const planner::Estimate& estimate : plan_.estimates)
      if (row.layout == estimate.layout) row.predicted = sweep::predicted_of(estimate);
  }
}

// A second signal ends the wait for the others.
void LayoutRuns::stop_all() {
  outcome_.end = {base::exit_interrupted, base::say(stop_reason)};
  try {
    rounds_.fail(outcome_.end);
    rounds_.finish("");
  } catch (const launch::Stopped&) {
  }
}

// Again where a host was started anew.
void LayoutRuns::prepare() {
  rounds_.begin(preparation);
  const auto problem = part_.prepare_data([&](const std::string& line) { progress_.preparing(line); });
  const std::map<int, std::string> answers = rounds_.finish("");
  if (problem) throw_as(*problem);
  for (const auto& [node, answer] : answers) {
    const sweep::SweepRow theirs = row_in(answer);
    if (theirs.status != sweep::SweepStatus::ok)
      throw_as({base::exit_peer_lost, base::say("host {}: {}", node, theirs.reason)});
  }
  prepared_ = static_cast<int>(answers.size()) == plan_.host.hosts.nnodes - 1;
}

void LayoutRuns::run_all() {
  number_ = 0;
  for (const planner::Estimate& estimate : plan_.estimates) {
    ++number_;
    if (has_row(estimate)) continue;
    while (!prepared_) prepare();
    left_.begin(estimate.time.step);
    const sweep::SweepRow row = run_one_layout(estimate);
    left_.finished(row);
    keep(row);
    if (row.status == sweep::SweepStatus::interrupted) left_.add(estimate.time.step);
    progress_.finished(number_, row, left_.seconds(0));
    if (outcome_.end.exit_code != 0) return;
  }
}

sweep::SweepRow LayoutRuns::run_one_layout(const planner::Estimate& estimate) {
  sweep::SweepRow row;
  row.layout = estimate.layout;
  row.predicted = sweep::predicted_of(estimate);
  const std::string name = planner::name_of(estimate.layout);
  rounds_.begin(sweep::to_csv({row}));
  row = part_.run_layout(
      row, [&](const std::string& folder) { return sweep::measured_in(folder, step_); },
      [&](double seconds) { progress_.running(number_, name, left_.seconds(seconds)); });
  if (row.status == sweep::SweepStatus::interrupted) outcome_.end = {base::exit_interrupted, row.reason};
  take_in(rounds_.finish(""), row);
  return row;
}

// The other hosts' answers about a layout. A host that is gone made it no worse: it is to be run again.
void LayoutRuns::take_in(const std::map<int, std::string>& answers, sweep::SweepRow& row) {
  for (int node = 1; node < plan_.host.hosts.nnodes; ++node) {
    const auto answer = answers.find(node);
    if (answer == answers.end()) {
      prepared_ = false;
      if (row.status == sweep::SweepStatus::ok || row.status == sweep::SweepStatus::interrupted) continue;
      row.status = sweep::SweepStatus::interrupted;
      row.reason = base::say("host {} was lost: {}", node, row.reason);
      continue;
    }
    const sweep::SweepRow theirs = row_in(answer->second);
    if (!row.measured) continue;
    if (theirs.measured) {
      row.measured->resident_bytes = std::max(row.measured->resident_bytes, theirs.measured->resident_bytes);
      continue;
    }
    row.measured.reset();
    row.status = theirs.status;
    row.reason = base::say("host {}: {}", node, theirs.reason);
    if (row.status == sweep::SweepStatus::interrupted) outcome_.end = {base::exit_interrupted, row.reason};
  }
}

void LayoutRuns::keep(const sweep::SweepRow& row) {
  sweep::SweepRows& rows = outcome_.rows;
  rows.erase(std::remove_if(rows.begin(), rows.end(), [&](const sweep::SweepRow& old) { return old.layout == row.layout; }),
             rows.end());
  rows.push_back(row);
  base::write_file_atomic(plan_.host.folder + "/summary.csv", sweep::to_csv(rows));
}

// Held while a sweep works in the folder.
host::LockFile lock_of(const std::string& folder) {
  base::make_directories(folder);
  return host::LockFile(folder + "/lock", [&](const base::Text&) {
    throw base::ConfigError(base::say("another sweep is running in {}: let it finish, or choose another --out", folder));
  });
}

// The report of a host other than 0 on a run: the numbers of a step are host 0's.
sweep::SweepMeasured resident_in_run(const std::string& folder) {
  sweep::SweepMeasured measured;
  measured.resident_bytes = sweep::most_resident(folder);
  return measured;
}

}  // namespace

sweep::SweepStep step_of(const SweepPlan& plan) {
  const planner::Estimate& one = plan.estimates.at(0);
  return {plan.host.settings.train.steps, one.layout.global, one.tokens};
}

SweepOutcome run_layouts(const SweepPlan& plan, SweepRounds& rounds, host::Signals& signals, sweep::SweepProgress& progress) {
  const host::LockFile alone = lock_of(plan.host.folder);
  planner::Layout any;
  any.global = step_of(plan).samples;
  sweep::keep_basis(plan.host.folder,
             {planner::with_layout(plan.host.settings, any), plan.host.hosts.nnodes, plan.host.nproc});
  return LayoutRuns(plan, rounds, signals, progress).run();
}

FailureReport follow_layouts(const SweepHost& host, SweepRounds& rounds, host::Signals& signals) {
  const host::LockFile alone = lock_of(host.folder);
  const HostPart part(host, rounds, signals);
  while (const auto task = rounds.next()) {
    sweep::SweepRow row;
    if (*task != preparation) {
      row = part.run_layout(row_in(*task), resident_in_run, [](double) {});
    } else if (const auto problem = part.prepare_data([](const std::string&) {})) {
      row.reason = problem->said();
    } else {
      row.status = sweep::SweepStatus::ok;
    }
    rounds.finish(sweep::to_csv({row}));
  }
  return rounds.ended_with();
}

}  // namespace troika::commands
