// For tests: a folder that is served, with runs made by hand, and a program of the test's own in place of troika.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/host_name.h"
#include "base/temporary_folder_test_support.h"
#include "metrics/step_metrics.h"
#include "records/event.h"
#include "records/run_reader.h"
#include "records/run_state.h"
#include "serve/catalog.h"
#include "serve/column_cache.h"
#include "serve/routes.h"
#include "serve/views.h"

namespace troika::serve {

class ServedRuns {
 public:
  ServedRuns() {
    base::make_directories(options.folder);
    base::make_directories(options.root + "/data");
  }

  std::string operator/(const std::string& name) const { return options.folder + "/" + name; }

  // Makes a run of one rank on this host, with three steps of ten; `change` sees its state before it is written.
  std::string make_run(const std::string& name, const std::function<void(records::RunState&)>& change = {}) const {
    const std::string folder = *this / name;
    base::make_directories(folder);
    records::RunState state;
    state.life = records::Life::finished;
    state.began = state.since = base::wall_seconds() - 100;
    state.model = "tiny: 4 layers";
    state.layout = "one rank";
    state.precision = "fp32";
    state.steps = 10;
    state.ranks = {{0, base::host_name(), 1, 0, 0, 0, 0}};
    if (change) change(state);
    records::write_run_state(folder, state);
    for (std::int64_t step = 1; step <= 3; ++step) add_row(folder, step);
    return folder;
  }

  static void add_row(const std::string& folder, std::int64_t step) {
    metrics::StepMetrics row;
    row.step = step;
    row.loss = 5 - 0.5 * static_cast<double>(step);
    row.tokens = 100;
    row.tokens_total = 100 * step;
    row.step_seconds = 0.5;
    row.tokens_per_second = 200;
    base::append_file(folder + "/metrics.jsonl", to_json(row) + "\n");
  }

  static void add_event(const std::string& folder, records::EventKind kind, double time,
                        const std::map<std::string, double>& numbers = {}) {
    records::Event event;
    event.time = time;
    event.kind = kind;
    event.host = base::host_name();
    event.text = "said";
    event.numbers = numbers;
    base::append_file(records::events_path(folder), to_json(event) + "\n");
  }

  static void add_checkpoint(const std::string& folder, const std::string& step) {
    base::make_directories(folder + "/checkpoints/" + step);
    base::write_file_atomic(folder + "/checkpoints/" + step + "/manifest.json", "{}");
  }

  // Installs a script in place of troika, under its name; the words are $1, $2, ...
  void program_is(const std::string& script) const {
    const std::string shell = options.root + "/troika";
    if (!base::file_exists(shell)) std::filesystem::copy_file("/bin/sh", shell);
    base::write_file_atomic(options.program, "#!" + shell + "\n" + script + "\n");
    ::chmod(options.program.c_str(), 0755);
  }

 private:
  const base::TemporaryFolder folder_;

  static Options options_in(const std::string& folder) {
    Options options;
    options.root = folder;
    options.folder = folder + "/runs";
    options.program = folder + "/program";
    options.environment = {{"PATH", "/usr/bin:/bin"}};
    options.vocabulary_of = [](const config::Settings& settings) { return settings.model.vocab > 0 ? settings.model.vocab : 259; };
    return options;
  }

 public:
  const Options options = options_in(folder_.path());
  RunCatalog catalog{options};
  ColumnCache columns;
  RunViews views{columns};
  const RouteContext context{catalog, views, columns, options};
};

// "409 the text" of what is refused, "done" where nothing is.
inline std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Refused& refused) {
    return std::to_string(refused.status) + " " + refused.text.english;
  } catch (const base::Error& error) {
    return std::string("error ") + error.what();
  }
  return "done";
}

}  // namespace troika::serve
