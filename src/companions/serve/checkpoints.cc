#include "serve/checkpoints.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "diagnosis/facts.h"
#include "host/worker.h"
#include "monitor/find_run.h"
#include "serve/form.h"
#include "serve/programs.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_manifest_bytes = 8 << 20, most_header_bytes = 4 << 20;
constexpr std::size_t most_checkpoints = 1000, most_parts_opened = 256;

std::int64_t bytes_below(const std::string& folder) {
  std::int64_t bytes = 0;
  for (const char* part : {"", "/model", "/state"}) {
    for (const std::string& name : monitor::names_in(folder + part)) {
      struct stat facts {};
      if (::lstat((folder + part + "/" + name).c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) bytes += facts.st_size;
    }
  }
  return bytes;
}

// The tensors of which a part has slices: NAME, NAME#1, NAME#2 are one.
void take_names(const base::RunFile& part, std::set<std::string>* names) {
  std::uint64_t length = 0;
  if (part.read(0, reinterpret_cast<char*>(&length), sizeof length) != sizeof length) return;
  if (length > static_cast<std::uint64_t>(std::min(most_header_bytes, part.facts().bytes))) return;
  const std::string text = part.text(sizeof length, static_cast<std::int64_t>(length));
  const auto header = nlohmann::json::parse(text, nullptr, false);
  if (!header.is_object()) return;
  for (const auto& item : header.items())
    if (item.key() != "__metadata__") names->insert(item.key().substr(0, item.key().find('#')));
}

// Nothing where a part cannot be read here.
std::optional<std::size_t> tensors_of(const std::string& step_path) {
  std::set<std::string> names;
  std::size_t opened = 0;
  for (const std::string& name : monitor::names_in(step_path + "/model")) {
    constexpr std::string_view ending = ".safetensors";
    if (name.size() < ending.size() || name.compare(name.size() - ending.size(), ending.size(), ending) != 0) continue;
    const std::optional<base::RunFile> part = base::RunFile::open(step_path, "model/" + name);
    if (!part || ++opened > most_parts_opened) return std::nullopt;
    take_names(*part, &names);
  }
  if (names.empty()) return std::nullopt;
  return names.size();
}

Json world_size_in(const std::string& step_path) {
  try {
    const std::optional<std::string> text = base::text_of_run(step_path, "manifest.json", most_manifest_bytes);
    const auto manifest = nlohmann::json::parse(text.value_or(""), nullptr, false);
    if (manifest.is_object() && manifest.contains("world_size") && manifest["world_size"].is_number_integer())
      return manifest["world_size"].get<std::int64_t>();
  } catch (const base::DataError&) {  // too large
  }
  return nullptr;
}

Json checkpoint_json(const std::string& folder, std::int64_t step) {
  const std::string path = step_folder(folder, step);
  const std::optional<base::RunFile> manifest = base::RunFile::open(path, "manifest.json");
  const auto tensors = tensors_of(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  return {{"step", step},
          {"time", manifest ? Json(manifest->facts().changed) : Json(nullptr)},
          {"bytes", bytes_below(path)},
          {"complete", true},
          {"tensors", tensors ? Json(*tensors) : Json(nullptr)},
          {"world_size", world_size_in(path)},
          {"exported", kind_of(folder + "/exports/" + name) == FileKind::folder}};
}

Json unfinished_json(const std::string& folder, std::int64_t step) {
  const std::string path = step_folder(folder, step) + ".partial";
  struct stat facts {};
  const bool known = ::lstat(path.c_str(), &facts) == 0;
  return {{"step", step},
          {"time", known ? Json(facts.st_mtim.tv_sec) : Json(nullptr)},
          {"bytes", bytes_below(path)},
          {"complete", false},
          {"tensors", nullptr},
          {"world_size", nullptr},
          {"exported", false}};
}

constexpr double export_patience = 2;  // seconds
constexpr int lines_of_export = 6;
constexpr std::size_t most_export_text = 2048;

std::string exports_folder(const std::string& run_folder) { return run_folder + "/exports"; }
std::string folder_of_export(const std::string& run_folder, std::int64_t step) {
  return exports_folder(run_folder) + "/" + name_of_step(step);
}

bool is_exported(const std::string& folder) { return kind_of(folder) == FileKind::folder && !base::list_directory(folder).empty(); }

std::string_view word_of(ExportState::Is is) {
  return is == ExportState::Is::running ? "running" : is == ExportState::Is::done ? "done" : "failed";
}

ExportState export_of(const std::string& run_folder, std::int64_t step) {
  ExportState state;
  state.step = step;
  state.folder = folder_of_export(run_folder, step);
  const std::string log = state.folder + ".log";
  state.is = has_writer(log)             ? ExportState::Is::running
             : is_exported(state.folder) ? ExportState::Is::done
                                         : ExportState::Is::failed;
  if (base::file_exists(log)) state.text = base::printable(host::last_lines(log, 0, lines_of_export), most_export_text);
  return state;
}

}  // namespace

std::string checkpoints_json(const std::string& folder) {
  std::vector<std::int64_t> steps;
  try {
    steps = complete_steps(folder);
  } catch (const base::DataError&) {  // it may not be read
  }
  std::reverse(steps.begin(), steps.end());
  if (steps.size() > most_checkpoints) steps.resize(most_checkpoints);
  const std::int64_t unfinished = diagnosis::find_checkpoints(folder).unfinished;
  Json list = Json::array();
  if (unfinished >= 0 && (steps.empty() || unfinished > steps.front()))
    list.push_back(unfinished_json(folder, unfinished));
  for (const std::int64_t step : steps) list.push_back(checkpoint_json(folder, step));
  return list.dump() + "\n";
}

std::string name_of_step(std::int64_t step) { return fmt::format("step-{:08}", step); }

std::optional<std::int64_t> step_of_name(const std::string& name) {
  std::int64_t step = -1;
  const std::size_t dash = name.find('-');
  if (dash == std::string::npos || !base::parse_int(name.substr(dash + 1), &step) || step < 0) return std::nullopt;
  return name == name_of_step(step) ? std::optional<std::int64_t>(step) : std::nullopt;
}

std::string step_folder(const std::string& run_folder, std::int64_t step) {
  return run_folder + "/checkpoints/" + name_of_step(step);
}

std::vector<std::int64_t> complete_steps(const std::string& run_folder) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : base::list_directory(run_folder + "/checkpoints")) {
    const std::optional<std::int64_t> step = step_of_name(name);
    if (step && kind_of(step_folder(run_folder, *step) + "/manifest.json") == FileKind::file) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::vector<ExportState> exports_of(const std::string& run_folder) {
  std::vector<std::int64_t> steps;
  if (kind_of(exports_folder(run_folder)) == FileKind::folder)
    for (const std::string& name : base::list_directory(exports_folder(run_folder)))
      if (const std::optional<std::int64_t> step = step_of_name(name.substr(0, name.find('.'))))
        if (steps.empty() || steps.back() != *step) steps.push_back(*step);
  std::vector<ExportState> states;
  for (const std::int64_t step : steps) states.push_back(export_of(run_folder, step));
  return states;
}

std::string to_json(const std::vector<ExportState>& exports) {
  Json list = Json::array();
  for (const ExportState& one : exports)
    list.push_back({{"step", one.step}, {"state", word_of(one.is)}, {"folder", one.folder}, {"text", one.text}});
  return json_line(list);
}

std::string export_checkpoint(const RouteContext& context, const std::string& name, std::optional<std::int64_t> step,
                              base::Language language) {
  const std::string folder = context.catalog.folder_of(name);
  const std::vector<std::int64_t> steps = complete_steps(folder);
  if (steps.empty()) throw Refused{409, base::say("'{}' has no complete checkpoint yet", name)};
  const std::int64_t of = step.value_or(steps.back());
  if (std::find(steps.begin(), steps.end(), of) == steps.end())
    throw Refused{409, base::say("'{}' has no complete checkpoint of step {}", name, of)};
  const std::string to = folder_of_export(folder, of), log = to + ".log";
  if (has_writer(log)) throw Refused{409, base::say("'{}' is already exporting its checkpoint of step {}", name, of)};
  if (is_exported(to)) throw Refused{409, base::say("'{}' has already exported its checkpoint of step {} to {}", name, of, to)};
  base::make_directories(exports_folder(folder));
  if (kind_of(exports_folder(folder)) != FileKind::folder)
    throw base::DataError(base::say("{} is a link", exports_folder(folder)));
  base::remove_tree(to + ".partial");  // of an export that was killed
  std::vector<std::string> words = {context.options.program, "export", step_folder(folder, of), to};
  for (std::string& word : host::language_flag(language)) words.push_back(std::move(word));
  const DetachedStart start = start_detached(
      {words, environment_of_runs(context.options.environment), context.options.root, log}, export_patience);
  if (start.ended && start.exit_code != 0)
    throw Refused{409, base::say("it ended at once, with exit code {}:\n{}", start.exit_code, start.last_words)};
  return to;
}

}  // namespace troika::serve
