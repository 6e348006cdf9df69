#include "commands/metrics/metrics.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/error.h"
#include "base/file.h"
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
  const std::string config = run.folder() + "/config.yaml";
  exporters::TensorboardRun to{folder, base::file_exists(config) ? base::read_file(config) : ""};
  to.parameters = exporters::hyper_parameters_of(to.config);
  const std::string path = exporters::write_tensorboard(run, to);
  return fmt::format("{} in {}\n", base::counted(static_cast<std::int64_t>(run.steps().size()), "step"), path);
}

}  // namespace

std::string metrics_report(const std::vector<std::string>& arguments) {
  const MetricsArguments a = parse_metrics_arguments(arguments);
  if (!base::file_exists(a.run + "/metrics.jsonl") && !base::file_exists(records::state_path(a.run)))
    throw base::ConfigError(fmt::format("'{}' is no run: it has neither metrics.jsonl nor state.json", a.run));
  records::RunReader run(a.run);
  while (run.refresh()) {
  }
  if (!a.tensorboard.empty()) return tensorboard_of(run, a.tensorboard);
  const std::string text = a.openmetrics ? openmetrics_of(run) : exporters::csv(run);
  if (a.out.empty()) return text;
  base::write_file_atomic(a.out, text);
  return "";
}

}  // namespace troika::commands
