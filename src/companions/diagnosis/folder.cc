#include "diagnosis/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/text.h"
#include "config/config.h"
#include "config/fields.h"
#include "records/old_sentences.h"

namespace troika::diagnosis {
namespace {

std::optional<config::Settings> settings_in(const std::string& folder, const std::string& name) {
  try {
    const auto text = base::text_of_run(folder, name, base::most_settings_bytes);
    if (text) return config::settings_from_yaml(*text, folder + "/" + name);
  } catch (const base::Error&) {  // damaged, or of another version
  }
  return std::nullopt;
}

// "step-00000120" and "step-00000120.partial" -> 120; -1 for another name.
std::int64_t step_of_folder(const std::string& name, const std::string& ending) {
  const std::string begin = "step-";
  std::int64_t step = -1;
  const bool fits = name.size() > begin.size() + ending.size() && name.compare(0, begin.size(), begin) == 0 &&
                    name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
  if (fits) base::parse_int(name.substr(begin.size(), name.size() - begin.size() - ending.size()), &step);
  return step;
}

// The last bytes: a log may be long, and its last attempt is at the end.
std::string end_of_log(const std::string& folder, const std::string& name, std::int64_t most_bytes) {
  const auto file = base::RunFile::open(folder, "logs/" + name);
  if (!file) return "";
  const std::int64_t from = std::max<std::int64_t>(file->facts().bytes - most_bytes, 0);
  return file->text(from, file->facts().bytes - from);
}

}  // namespace

SettingsFound read_settings_in(const std::string& folder) {
  std::vector<config::Settings> found;
  for (int attempt = 1;; ++attempt) {
    const std::string name = attempt == 1 ? "config.yaml" : fmt::format("config-{}.yaml", attempt);
    if (!base::file_exists(folder + "/" + name)) break;
    if (auto settings = settings_in(folder, name)) found.push_back(*std::move(settings));
  }
  SettingsFound result;
  if (!found.empty()) result.last = found.back();
  if (found.size() > 1) result.before = found[found.size() - 2];
  return result;
}

std::vector<base::Text> differing_settings(const config::Settings& now, const config::Settings& before) {
  std::vector<base::Text> differing;
  for (const config::Field& field : config::fields()) {
    if (field.section == "log" || field.section == "comm" || field.section == "checkpoint") continue;
    if (field.key() == "train.steps" || field.key() == "train.resume" || field.key() == "train.profile") continue;
    const std::string a = config::get_text(field, now), b = config::get_text(field, before);
    if (a != b) differing.push_back(base::say("{}: {}, before: {}", field.key(), a, b));
  }
  return differing;
}

CheckpointsFound find_checkpoints(const std::string& folder) {
  CheckpointsFound found;
  const std::string root = folder + "/checkpoints";
  try {
    for (const std::string& name : base::list_directory(root)) {
      if (const std::int64_t step = step_of_folder(name, ""); step >= 0) {
        if (base::file_exists(fmt::format("{}/{}/manifest.json", root, name))) found.complete.push_back(step);
      } else if (const std::int64_t partial = step_of_folder(name, ".partial"); partial >= 0) {
        const bool failed = base::list_directory(root + "/" + name).empty();  // a save that fails leaves it so
        if (!failed) found.unfinished = std::max(found.unfinished, partial);
      }
    }
  } catch (const base::Error&) {  // no folder that can be read
  }
  std::sort(found.complete.begin(), found.complete.end());
  return found;
}

int rank_of_log(const std::string& name) {
  constexpr std::size_t begin = 5, ending = 4;  // "rank-", ".log"
  std::int64_t rank = -1;
  if (name.size() > begin + ending && name.rfind("rank-", 0) == 0 && name.substr(name.size() - ending) == ".log")
    base::parse_int(name.substr(begin, name.size() - begin - ending), &rank);
  return static_cast<int>(rank);
}

LogsRead read_logs(const std::string& folder) {
  constexpr std::int64_t most_bytes = 256 * 1024;
  LogsRead read;
  std::vector<std::string> names;
  try {
    names = base::list_directory(folder + "/logs");
  } catch (const base::Error&) {  // none
  }
  for (const std::string& name : names) {
    const int rank = rank_of_log(name);
    if (rank < 0) continue;
    for (const std::string& line : base::split(end_of_log(folder, name, most_bytes), '\n')) {
      if (const records::ThreadUse use = records::threads_in(line); use.threads > 0) {
        read.threads[rank] = use;
        read.data_differ = rank == 0 ? false : read.data_differ;  // another attempt begins
      }
      read.data_differ = read.data_differ || records::cause_in(line) == base::Cause::data_differ;
    }
  }
  return read;
}

std::string last_lines_of_log(const std::string& folder, int rank) {
  constexpr std::int64_t most_bytes = 8192;
  constexpr std::size_t most_lines = 20;
  std::vector<std::string> lines =
      base::split(base::trim(end_of_log(folder, fmt::format("rank-{:05}.log", rank), most_bytes)), '\n');
  if (lines.size() > most_lines) lines.erase(lines.begin(), lines.end() - most_lines);
  return base::join(lines, "\n");
}

}  // namespace troika::diagnosis
