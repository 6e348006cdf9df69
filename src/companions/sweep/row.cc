#include "sweep/row.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "config/config.h"
#include "metrics/step_metrics.h"
#include "records/run_reader.h"
#include "schedule/trace/summary.h"
#include "schedule/trace/trace_json.h"

namespace troika::sweep {

SweepPredicted predicted_of(const planner::Estimate& estimate) {
  return {estimate.time.step, estimate.memory.at_once, estimate.memory.total()};
}

SweepRows best_first(SweepRows rows) {
  const auto speed = [](const SweepRow& row) { return row.measured ? row.measured->tokens_per_second : -1; };
  std::stable_sort(rows.begin(), rows.end(), [&](const SweepRow& a, const SweepRow& b) { return speed(a) > speed(b); });
  return rows;
}

const SweepRow* find_row(const SweepRows& rows, const planner::Layout& layout) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const SweepRow& row) { return row.layout == layout; });
  return found == rows.end() ? nullptr : &*found;
}

namespace {

double median_without_the_first(const std::vector<metrics::StepMetrics>& rows) {
  std::vector<double> seconds;
  for (std::size_t i = 1; i < rows.size(); ++i) seconds.push_back(rows[i].step_seconds);
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
}

schedule::TimeShares shares_of_last_step(const std::string& timeline) {
  const auto steps = schedule::list_traces(timeline);
  if (steps.empty()) throw base::DataError(base::say("{} has no recorded steps", timeline));
  const auto& [step, files] = *steps.rbegin();
  return schedule::summarize(schedule::load_trace(timeline, step, files, schedule::MergedFile::use_if_present).trace)
      .total;
}

}  // namespace

std::int64_t most_resident(const std::string& run_folder) {
  records::RunReader run(run_folder, {2, 1, 1, 0});
  run.refresh();
  std::int64_t most = 0;
  for (const auto& [rank, sample] : records::newest(run)) most = std::max(most, sample.peak_resident_bytes);
  return most;
}

SweepMeasured measured_in(const std::string& run_folder, const SweepStep& step) {
  const std::string path = run_folder + "/metrics.jsonl";
  const std::vector<metrics::StepMetrics> rows = metrics::MetricsFile(path).read();
  if (static_cast<std::int64_t>(rows.size()) < std::max<std::int64_t>(step.steps, 2))
    throw base::DataError(base::say("{} has {} of {} steps", path, rows.size(), step.steps));
  const schedule::TimeShares shares = shares_of_last_step(run_folder + "/timeline");
  SweepMeasured measured;
  measured.step_seconds = median_without_the_first(rows);
  measured.samples_per_second = static_cast<double>(step.samples) / measured.step_seconds;
  measured.tokens_per_second = static_cast<double>(step.tokens) / measured.step_seconds;
  measured.memory_bytes = rows.back().memory_bytes;
  measured.resident_bytes = most_resident(run_folder);
  measured.communication_share = shares.share(shares.communication_seconds);
  measured.bubble_share = shares.share(shares.bubble_seconds);
  measured.loss_bits = fmt::format("{:08x}", rows.back().loss_bits);
  return measured;
}

// Settings that are equal where the sweep is the same, wherever its folder is.
static std::string without_place(config::Settings settings) {
  if (settings.data.cache == settings.train.out + "/data") settings.data.cache.clear();
  settings.train.out.clear();
  return config::to_yaml(settings);
}

static void refuse_other(const std::string& folder, const base::Text& what) {
  throw base::ConfigError(
      base::say("{} holds a sweep of another training ({}): choose another --out, or delete it", folder, what));
}

void keep_basis(const std::string& folder, const SweepBasis& basis) {
  const std::string path = folder + "/sweep.json";
  if (!base::file_exists(path)) {
    const nlohmann::ordered_json facts = {
        {"format", 1}, {"nnodes", basis.nnodes}, {"nproc", basis.nproc}, {"settings", config::to_yaml(basis.settings)}};
    return base::write_file_atomic(path, facts.dump(2) + "\n");
  }
  const nlohmann::json facts = base::parse_json(base::read_file(path), path);
  if (base::json_int(facts, "format", path) != 1) refuse_other(folder, base::say("by another version of Troika"));
  for (const auto& [name, now] : {std::pair{"nnodes", basis.nnodes}, std::pair{"nproc", basis.nproc}}) {
    const std::int64_t was = facts.contains(name) ? base::json_int(facts, name, path) : 1;
    if (was != now) refuse_other(folder, base::say("--{} was {} and is now {}", name, was, now));
  }
  const std::string kept = without_place(config::settings_from_yaml(base::json_string(facts, "settings", path), path));
  const std::string asked = without_place(basis.settings);
  if (kept != asked) refuse_other(folder, base::say("{} differs", config::first_difference(kept, asked)));
}

SweepRows kept_rows(const std::string& folder) {
  const std::string path = folder + "/summary.csv";
  return base::file_exists(path) ? parse_csv(base::read_file(path), path) : SweepRows{};
}

bool is_to_be_run_again(const SweepRow& row, double deadline_seconds) {
  return row.status == SweepStatus::interrupted ||
         (row.status == SweepStatus::timeout && row.seconds < deadline_seconds);
}

}  // namespace troika::sweep
