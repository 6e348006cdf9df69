// The rows of a run for other programs: as event files that TensorBoard reads (scalars under the keys of metrics.jsonl, the settings as a
// text and as hyperparameters), and as a table for spreadsheets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/settings/settings.h"
#include "exporters/event_records.h"
#include "metrics/run_log.h"
#include "records/run_reader.h"

namespace troika::exporters {

struct TensorboardRun {
  std::string folder;                        // where the files go
  std::string config;                        // config.yaml
  std::vector<HyperParameter> parameters{};  // hyper_parameters_of() its settings
};

// Where a run with these settings has its event files; "" where it has none.
std::string tensorboard_folder(const config::Settings& settings);

// The settings, as YAML (config.yaml), that all ranks share. Empty for a text that this version does not understand.
std::vector<HyperParameter> hyper_parameters_of(const std::string& yaml);

// The keys of the row but step and loss_bits, in the order of metrics.jsonl. The loss is that of the bits.
Scalars scalars_of(const metrics::StepMetrics& row);

// Writes while the run trains, from a thread of its own. Each attempt has a file of its own, and says at its begin which steps of
// earlier files no longer count. A disk that is full, fails or does not answer costs rows, with one note.
std::unique_ptr<metrics::RowSink> make_tensorboard_sink(TensorboardRun run);

// One file with all rows of `run`, read to its end. The time of a row is that of the attempt's start and the seconds of the steps since.
// ConfigError when the folder has event files already. Returns the file's path.
std::string write_tensorboard(const records::RunReader& run, const TensorboardRun& to);

// A table for spreadsheets: RFC 4180, with a head. A column for each key that occurs: those of metrics.jsonl in its order, then further ones by name. Numbers as
// there; one that is not finite is empty.
std::string csv(const records::RunReader& run);

}  // namespace troika::exporters
