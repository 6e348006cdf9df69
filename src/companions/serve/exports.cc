#include "serve/exports.h"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "host/worker.h"
#include "serve/complete_steps.h"
#include "serve/detached.h"
#include "serve/form.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr double export_patience = 2;  // seconds
constexpr int lines_of_export = 6;
constexpr std::size_t most_export_text = 2048;

bool is_plain_folder(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

std::string exports_folder(const std::string& run_folder) { return run_folder + "/exports"; }
std::string folder_of_export(const std::string& run_folder, std::int64_t step) {
  return exports_folder(run_folder) + "/" + name_of_step(step);
}

bool is_exported(const std::string& folder) { return is_plain_folder(folder) && !base::list_directory(folder).empty(); }

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

std::vector<ExportState> exports_of(const std::string& run_folder) {
  std::vector<std::int64_t> steps;
  if (is_plain_folder(exports_folder(run_folder)))
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
  return list.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string export_checkpoint(const Shop& shop, const std::string& name, std::optional<std::int64_t> step) {
  const std::string folder = shop.catalog.folder_of(name);
  const std::vector<std::int64_t> steps = complete_steps(folder);
  if (steps.empty()) throw Refused{409, base::say("'{}' has no complete checkpoint yet", name)};
  const std::int64_t of = step.value_or(steps.back());
  if (std::find(steps.begin(), steps.end(), of) == steps.end())
    throw Refused{409, base::say("'{}' has no complete checkpoint of step {}", name, of)};
  const std::string to = folder_of_export(folder, of), log = to + ".log";
  if (has_writer(log)) throw Refused{409, base::say("'{}' is exporting its checkpoint of step {} already", name, of)};
  if (is_exported(to)) throw Refused{409, base::say("'{}' has exported its checkpoint of step {} already, to {}", name, of, to)};
  base::make_directories(exports_folder(folder));
  if (!is_plain_folder(exports_folder(folder)))
    throw base::DataError(base::say("{} is a link", exports_folder(folder)));
  base::remove_tree(to + ".partial");  // of an export that was killed
  const DetachedStart start = start_detached({{shop.options.program, "export", step_folder(folder, of), to},
                                              environment_of_runs(shop.options.environment),
                                              shop.options.root,
                                              log},
                                             export_patience);
  if (start.ended && start.exit_code != 0)
    throw Refused{409, base::say("it ended at once, with exit code {}:\n{}", start.exit_code, start.last_words)};
  return to;
}

}  // namespace troika::serve
