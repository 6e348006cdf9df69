#include "sweep/measured.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/units.h"
#include "metrics/step_metrics.h"
#include "schedule/trace/summary.h"
#include "schedule/trace/trace_json.h"

namespace troika::sweep {
namespace {

double median_without_the_first(const std::vector<metrics::StepMetrics>& rows) {
  std::vector<double> seconds;
  for (std::size_t i = 1; i < rows.size(); ++i) seconds.push_back(rows[i].step_seconds);
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
}

// "... resident 312.0 MiB (program 178.0 MiB)" at the end of a rank's summary; 0: it is not there.
std::int64_t resident_in(const std::string& log) {
  const std::string mark = ", resident ";
  const std::size_t at = log.rfind(mark);
  if (at == std::string::npos) return 0;
  const std::size_t begin = at + mark.size();
  std::string text = log.substr(begin, log.find_first_of("(\n", begin) - begin);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  std::int64_t bytes = 0;
  return base::parse_bytes(text, &bytes) ? bytes : 0;
}

schedule::TimeShares shares_of_last_step(const std::string& timeline) {
  const auto steps = schedule::list_traces(timeline);
  if (steps.empty()) throw base::DataError(base::say("{} holds no recorded step", timeline));
  const auto& [step, files] = *steps.rbegin();
  return schedule::summarize(schedule::load_trace(timeline, step, files, schedule::MergedFile::use_if_present).trace)
      .total;
}

}  // namespace

std::int64_t most_resident(const std::string& run_folder) {
  const std::string logs = run_folder + "/logs";
  std::int64_t most = resident_in(base::read_file(run_folder + "/launch.log"));  // world rank 0
  for (const std::string& name : base::list_directory(logs))
    most = std::max(most, resident_in(base::read_file(logs + "/" + name)));
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

}  // namespace troika::sweep
