#include "serve/catalog.h"

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "monitor/find_run.h"
#include "serve/form.h"
#include "sweep/row.h"

namespace troika::serve {
namespace {

constexpr int deepest_run = 4;  // sweep/host-1/runs/NAME
constexpr int most_folders_walked = 10'000;

bool may_be_shown(const std::string& name) {
  const bool plain = std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  return plain && name.front() != '.' && base::is_utf8(name);
}

class RunWalk {
 public:
  RunFolders found;

  // `name` is that of the folder, "" of the one that is served; `depth`: how many levels there are still below it.
  void look_into(const std::string& name, const std::string& path, int depth) {
    for (const std::string& part : monitor::names_in(path)) {
      const std::string below = path + "/" + part;
      if (left_ <= 0 || !may_be_shown(part) || kind_of(below) != FileKind::folder) continue;
      --left_;
      const std::string full = name.empty() ? part : name + "/" + part;
      if (!take(full, below) && depth > 1) look_into(full, below, depth - 1);
    }
  }

  // Whether it is a run, so that nothing is looked for inside.
  bool take(const std::string& name, const std::string& path) {
    if (is_served_run(path)) {
      found.runs.push_back({name, path});
      return true;
    }
    if (kind_of(path + "/sweep.json") == FileKind::file) found.sweeps.push_back({name, path});
    return false;
  }

 private:
  int left_ = most_folders_walked;
};

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_sweep_bytes = 16 << 20;

// Seconds since 1970, and whether it may be read: a file of its own, and no more than a sweep writes.
struct SweepFile {
  bool is_there = false;
  double changed = 0;
};

SweepFile file_of_sweep(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return {};
  if (!S_ISREG(facts.st_mode) || facts.st_size > most_sweep_bytes)
    throw base::DataError(base::say("'{}' is not a file written by a sweep", path));
  return {true, static_cast<double>(facts.st_mtim.tv_sec) + 1e-9 * static_cast<double>(facts.st_mtim.tv_nsec)};
}

struct KeptSweep {
  double changed = 0;
  sweep::SweepRows rows;  // the best first
};

KeptSweep kept_sweep(const std::string& folder) {
  KeptSweep sweep;
  sweep.changed = file_of_sweep(folder + "/sweep.json").changed;
  const SweepFile table = file_of_sweep(folder + "/summary.csv");
  sweep.changed = std::max(sweep.changed, table.changed);
  if (table.is_there) sweep.rows = sweep::best_first(sweep::kept_rows(folder));
  return sweep;
}

Json json_of_cell(const sweep::SweepCell& cell) {
  if (!cell.is_number) return cell.text;
  std::int64_t whole = 0;
  double number = 0;
  if (base::parse_int(cell.text, &whole)) return whole;
  return base::parse_double(cell.text, &number) && std::isfinite(number) ? Json(number) : Json(nullptr);
}

Json json_of_row(const sweep::SweepRow& row, base::Language language) {
  Json json = {{"layout", name_of(row.layout)}};
  for (const sweep::SweepCell& cell : sweep::cells_of(row)) json[std::string(cell.column)] = json_of_cell(cell);
  json.erase("reason_zh");
  json["reason"] = row.reason.in(language);
  return json;
}

Json json_in_list(const NamedFolder& sweep) {
  Json json = {
      {"name", sweep.name}, {"changed", nullptr}, {"rows", 0}, {"best", nullptr}, {"tokens_per_second", nullptr}};
  try {
    const KeptSweep kept = kept_sweep(sweep.path);
    json["changed"] = kept.changed;
    json["rows"] = kept.rows.size();
    if (kept.rows.empty() || !kept.rows.front().measured) return json;
    json["best"] = name_of(kept.rows.front().layout);
    json["tokens_per_second"] = kept.rows.front().measured->tokens_per_second;
  } catch (const base::DataError&) {  // damaged, or just being written
  }
  return json;
}

}  // namespace

bool is_served_run(const std::string& folder) {
  for (const char* file : {"state.json", "metrics.jsonl", "events.jsonl", "run.log", "run.lock"})
    if (const FileKind kind = kind_of(folder + "/" + file); kind != FileKind::file && kind != FileKind::none) return false;
  if (const FileKind kind = kind_of(folder + "/records"); kind != FileKind::folder && kind != FileKind::none) return false;
  return monitor::is_run(folder) || kind_of(folder + "/launch.yaml") == FileKind::file;
}

RunFolders run_folders_below(const std::string& folder) {
  RunWalk walk;
  if (!walk.take(folder.substr(folder.rfind('/') + 1), folder)) walk.look_into("", folder, deepest_run);
  const auto by_name = [](const NamedFolder& a, const NamedFolder& b) { return a.name < b.name; };
  std::sort(walk.found.runs.begin(), walk.found.runs.end(), by_name);
  std::sort(walk.found.sweeps.begin(), walk.found.sweeps.end(), by_name);
  return std::move(walk.found);
}

std::string sweeps_json(const std::vector<NamedFolder>& sweeps) {
  Json list = Json::array();
  for (const NamedFolder& sweep : sweeps) list.push_back(json_in_list(sweep));
  return json_line(list);
}

std::string sweep_json(const NamedFolder& sweep, base::Language language) {
  const KeptSweep kept = kept_sweep(sweep.path);
  const std::string path = sweep.path + "/sweep.json";
  const nlohmann::json facts = base::parse_json(base::read_file(path), path);
  const std::string best = sweep.path + "/best.yaml";
  Json rows = Json::array();
  for (const sweep::SweepRow& row : kept.rows) rows.push_back(json_of_row(row, language));
  return json_line({{"name", sweep.name},
                  {"nnodes", facts.contains("nnodes") ? base::json_int(facts, "nnodes", path) : 1},
                  {"nproc", facts.contains("nproc") ? base::json_int(facts, "nproc", path) : 1},
                  {"settings", base::json_string(facts, "settings", path)},
                  {"training", file_of_sweep(best).is_there ? Json(base::read_file(best)) : Json(nullptr)},
                  {"rows", std::move(rows)}});
}

}  // namespace troika::serve
