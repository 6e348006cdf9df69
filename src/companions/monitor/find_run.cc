#include "monitor/find_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "monitor/texts.h"

namespace troika::monitor {
namespace {

constexpr int deepest_below = 4;  // runs/sweep/runs/NAME
constexpr int deepest_in_run = 3;
constexpr int most_folders = 10'000;  // somebody may name the root of a disk
constexpr const char* default_folder = "runs";

std::pair<std::string, std::string> parent_and_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// Seconds and nanoseconds; nothing where there is no such file.
std::optional<std::pair<std::int64_t, std::int64_t>> changed_at(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
  return std::pair<std::int64_t, std::int64_t>{facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

std::pair<std::int64_t, std::int64_t> run_changed_at(const std::string& run) {
  std::pair<std::int64_t, std::int64_t> last{0, 0};
  for (const char* name : {"state.json", "metrics.jsonl"})
    if (const auto at = changed_at(run + "/" + name)) last = std::max(last, *at);
  return last;
}

bool has_files_of_ranks(const std::string& folder) {
  const std::vector<std::string> names = names_in(folder);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.rfind("rank-", 0) == 0; });
}

// Adds runs in the order of their names. A run has no runs inside. `folders_left`: how many more are looked into.
void add_runs_below(const std::string& folder, int depth, int* folders_left, std::vector<std::string>* runs) {
  for (const std::string& name : names_in(folder)) {
    const std::string path = folder + "/" + name;
    if (*folders_left <= 0 || !base::directory_exists(path)) continue;
    --*folders_left;
    if (is_run(path))
      runs->push_back(path);
    else if (depth > 1)
      add_runs_below(path, depth - 1, folders_left, runs);
  }
}

std::vector<std::string> runs_below(const std::string& folder, int depth) {
  std::vector<std::string> runs;
  int folders_left = most_folders;
  add_runs_below(folder, depth, &folders_left, &runs);
  return runs;
}

std::optional<std::string> newest_of(const std::vector<std::string>& runs) {
  const auto newest = std::max_element(runs.begin(), runs.end(), [](const std::string& a, const std::string& b) {
    return run_changed_at(a) < run_changed_at(b);
  });
  if (newest == runs.end()) return std::nullopt;
  return *newest;
}

// The run that a file lies in, or will.
std::optional<std::string> run_around(const std::string& file) {
  std::string folder = parent_and_name(file).first;
  for (int up = 0; up < deepest_in_run; ++up) {
    if (is_run(folder)) return folder;
    folder = parent_and_name(folder).first;
  }
  const auto [parent, name] = parent_and_name(file);
  const bool of_run = name == "metrics.jsonl" || name == "run.log" || name == "state.json" || name == "events.jsonl";
  if (of_run && base::directory_exists(parent)) return parent;
  return std::nullopt;
}

// A sentence's end about a path that leads to no run.
base::Text nearest_run(const std::string& path) {
  if (const std::string of_default = fmt::format("{}/{}", default_folder, path); is_run(of_default))
    return base::say("; did you mean '{}'?", of_default);
  std::vector<std::string> runs = runs_below(default_folder, deepest_below);
  const std::string parent = parent_and_name(path).first;
  if (base::directory_exists(parent) && parent != default_folder)
    for (std::string& run : runs_below(parent, 1)) {
      if (run.rfind("./", 0) == 0) run.erase(0, 2);
      runs.push_back(std::move(run));
    }
  const std::string near = base::nearest(path, runs);
  if (!near.empty()) return base::say("; did you mean '{}'?", near);
  if (const auto newest = newest_of(runs)) return base::say("; the most recently changed run is '{}'", *newest);
  return base::say("; give the run's --train.out folder");
}

}  // namespace

std::vector<std::string> names_in(const std::string& folder) {
  try {
    return base::list_directory(folder);
  } catch (const base::DataError&) {
    return {};
  }
}

bool is_run(const std::string& folder) {
  for (const char* name : {"state.json", "events.jsonl", "metrics.jsonl", "run.log", "program.txt"})
    if (base::file_exists(folder + "/" + name)) return true;
  return has_files_of_ranks(folder + "/records") || has_files_of_ranks(folder + "/logs");
}

base::Text no_records_in(const std::string& folder) {
  const auto below = newest_of(runs_below(base::without_end_slashes(folder), deepest_below));
  return base::say("'{}' holds no records of a run (events.jsonl, state.json, metrics.jsonl){}", folder,
              below ? base::say("; the most recently changed run is '{}'", *below) : nearest_run(folder));
}

std::string find_run(const std::string& path) {
  const auto refuse = [&](base::Phrase text) {
    throw base::ConfigError(base::say(text, path, nearest_run(path)));
  };
  const std::string given = path.empty() ? default_folder : base::without_end_slashes(path);
  if (base::directory_exists(given)) {
    if (is_run(given)) return given;
    if (const auto newest = newest_of(runs_below(given, deepest_below))) return *newest;
    if (path.empty()) throw base::ConfigError(base::say("there is no run below 'runs' yet: give a run folder, as in `troika monitor RUN`"));
    if (names_in(given).empty()) return given;
    if (const auto around = run_around(given)) return *around;  // RUN/logs, RUN/checkpoints
    refuse(base::Phrase("'{}' is not a run and contains none{}"));
  }
  if (path.empty()) throw base::ConfigError(base::say("there is no folder 'runs' here: give the run folder, as in `troika monitor RUN`"));
  if (const auto around = run_around(given)) return *around;
  refuse(base::file_exists(given) ? base::Phrase("'{}' is not a file of a run{}") : base::Phrase("there is no run '{}'{}"));
  return "";
}

}  // namespace troika::monitor
