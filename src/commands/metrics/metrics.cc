#include "commands/metrics/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/counted.h"
#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "commands/metrics/arguments.h"
#include "exporters/csv.h"
#include "exporters/openmetrics.h"
#include "exporters/tensorboard.h"
#include "records/run_reader.h"

namespace troika::commands {
namespace {

std::string openmetrics_of(const records::RunReader& run) {
  exporters::StepSeconds seconds;
  seconds.follow(run);
  return exporters::openmetrics(run, seconds, exporters::moment_of(run.folder()), exporters::TextFormat::open_metrics);
}

std::string tensorboard_of(const records::RunReader& run, const std::string& folder) {
  exporters::TensorboardRun to{
      folder, base::text_of_run(run.folder(), "config.yaml", base::most_settings_bytes).value_or("")};
  to.parameters = exporters::hyper_parameters_of(to.config);
  const std::string path = exporters::write_tensorboard(run, to);
  return fmt::format("{} in {}\n", base::counted(static_cast<std::int64_t>(run.steps().size()), "step"), path);
}

// Where a run of that folder keeps something itself.
bool is_own_place(const std::string& run, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(run, error);
  const fs::path name = fs::path(path).filename();
  const fs::path place = fs::weakly_canonical(fs::absolute(path, error).parent_path(), error) / name;
  const fs::path below = place.lexically_relative(folder);
  if (below.empty() || *below.begin() == "..") return false;
  const std::string first = below.begin()->string();
  const auto is_first = [&](std::string_view own) { return own == first; };
  if (std::next(below.begin()) != below.end())
    return std::any_of(records::own_folders.begin(), records::own_folders.end(), is_first);
  return std::any_of(records::own_files.begin(), records::own_files.end(), is_first);
}

void refuse_own_place(const MetricsArguments& a) {
  if (a.out.empty() || !is_own_place(a.run, a.out)) return;
  throw base::ConfigError(
      base::say("--out {} is where the run keeps its own records, which would be lost: name another file", a.out));
}

// Rows that are damaged are in no table; one without any other says nothing of the run.
void tell_of_rows_left_out(const records::RunReader& run) {
  if (run.rows_left_out() == 0) return;
  const std::string what = fmt::format("{} of '{}/metrics.jsonl' cannot be read",
                                       base::counted(run.rows_left_out(), "row"), run.folder());
  if (run.steps_read() == 0)
    throw base::DataError(base::say("{}, and there is no other: the file is damaged or another program's", what));
  fmt::print(stderr, "note: {} and {} left out; steps written: {}\n", what, run.rows_left_out() == 1 ? "is" : "are",
             run.steps_read());
}

}  // namespace

std::string metrics_report(const std::vector<std::string>& arguments) {
  const MetricsArguments a = parse_metrics_arguments(arguments);
  if (!base::file_exists(a.run + "/metrics.jsonl") && !base::file_exists(records::state_path(a.run)))
    throw base::ConfigError(base::say("'{}' is no run: it has neither metrics.jsonl nor state.json", a.run));
  refuse_own_place(a);
  records::RunReader run(a.run);
  while (run.refresh()) {
  }
  tell_of_rows_left_out(run);
  if (!a.tensorboard.empty()) return tensorboard_of(run, a.tensorboard);
  const std::string text = a.openmetrics ? openmetrics_of(run) : exporters::csv(run);
  if (a.out.empty()) return text;
  base::write_file_atomic(a.out, text);
  return "";
}

}  // namespace troika::commands
