#include "commands/entry_points.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "exporters/tensorboard.h"
#include "exporters/openmetrics.h"
#include "records/run_reader.h"

namespace troika::commands {
namespace {

struct MetricsArguments {
  std::string run;
  bool csv = false;  // also without another form
  bool openmetrics = false;
  std::string tensorboard;  // a folder; "": not asked for
  std::string out;          // a file; "": standard output
};

config::FlagTable declare_metrics(MetricsArguments& a) {
  config::FlagTable table("troika metrics");
  table.usage("RUN [--csv | --openmetrics | --tensorboard DIR] [--out FILE]");
  table.word("RUN", a.run, "The folder of a running or finished run.").required();
  table
      .add("csv", a.csv,
           "One row per step, one column per number; the default format.")
      .alone();
  table.add("openmetrics", a.openmetrics, "Print once what `troika launch --metrics-port` serves.").alone();
  table.add("tensorboard", a.tensorboard, "Write all steps as an event file for TensorBoard into this folder.")
      .shown("DIR")
      .unset("none");
  table.add("out", a.out, "Write to this file instead of standard output.").shown("FILE").unset("none");
  return table;
}

MetricsArguments parse_metrics_arguments(const Words& words) {
  MetricsArguments a;
  const config::FlagTable table = declare_metrics(a);
  config::FlagReading reading = config::read_flags({&table}, words);
  const int forms = (a.csv ? 1 : 0) + (a.openmetrics ? 1 : 0) + (a.tensorboard.empty() ? 0 : 1);
  if (forms > 1)
    reading.refuse(base::say("--csv, --openmetrics and --tensorboard exclude each other: give only one"));
  if (!a.tensorboard.empty() && !a.out.empty())
    reading.refuse(base::say("--out is for --csv and --openmetrics; --tensorboard names its folder itself"));
  reading.finish();
  return a;
}

std::string openmetrics_of(const records::RunReader& run) {
  exporters::StepSeconds seconds;
  seconds.follow(run);
  return exporters::openmetrics(run, seconds, exporters::moment_of(run.folder()), exporters::TextFormat::open_metrics);
}

base::Text tensorboard_of(const records::RunReader& run, const std::string& folder) {
  exporters::TensorboardRun to{folder,
                               base::text_of_run(run.folder(), "config.yaml", base::most_settings_bytes).value_or("")};
  to.parameters = exporters::hyper_parameters_of(to.config);
  const std::string path = exporters::write_tensorboard(run, to);
  return base::say("{} in {}\n", base::counted_text(static_cast<std::int64_t>(run.steps().size()), "step"), path);
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
      base::say("--out {} would overwrite the run's own records: choose another file", a.out));
}

// No table has damaged rows. DataError for a run that has no other.
void tell_of_rows_left_out(const records::RunReader& run, base::Language language) {
  if (run.rows_left_out() == 0) return;
  const base::Text rows = base::counted_text(run.rows_left_out(), "row");
  if (run.steps_read() == 0)
    throw base::DataError(base::say(
        "{} of '{}/metrics.jsonl' cannot be read, and it has no others: the file is damaged or another program's",
        rows, run.folder()));
  const base::Text note = base::say(
      run.rows_left_out() == 1
          ? base::Phrase("note: {} of '{}/metrics.jsonl' cannot be read and is left out; steps written: {}\n")
          : base::Phrase("note: {} of '{}/metrics.jsonl' cannot be read and are left out; steps written: {}\n"),
      rows, run.folder(), run.steps_read());
  std::fputs(note.in(language).c_str(), stderr);
}

}  // namespace

std::string metrics_report(const std::vector<std::string>& arguments, base::Language language) {
  const MetricsArguments a = parse_metrics_arguments(arguments);
  if (!base::file_exists(a.run + "/metrics.jsonl") && !base::file_exists(records::state_path(a.run)))
    throw base::ConfigError(base::say("'{}' is not a run: it has neither metrics.jsonl nor state.json", a.run));
  refuse_own_place(a);
  records::RunReader run(a.run);
  while (run.refresh()) {
  }
  tell_of_rows_left_out(run, language);
  if (!a.tensorboard.empty()) return tensorboard_of(run, a.tensorboard).in(language);
  const std::string text = a.openmetrics ? openmetrics_of(run) : exporters::csv(run);
  if (a.out.empty()) return text;
  base::write_file_atomic(a.out, text);
  return "";
}

config::FlagTable metrics_flags() { return unbound<MetricsArguments, declare_metrics>(); }

}  // namespace troika::commands
