#include "serve/sweeps.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "sweep/kept.h"
#include "sweep/summary_csv.h"

namespace troika::serve {
namespace {

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
    throw base::DataError(base::say("'{}' is no file that a sweep has written", path));
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

Json json_of_row(const sweep::SweepRow& row) {
  Json json = {{"layout", name_of(row.layout)}};
  for (const sweep::SweepCell& cell : sweep::cells_of(row)) json[std::string(cell.column)] = json_of_cell(cell);
  return json;
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

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

std::string sweeps_json(const std::vector<NamedFolder>& sweeps) {
  Json list = Json::array();
  for (const NamedFolder& sweep : sweeps) list.push_back(json_in_list(sweep));
  return text_of(list);
}

std::string sweep_json(const NamedFolder& sweep) {
  const KeptSweep kept = kept_sweep(sweep.path);
  const std::string path = sweep.path + "/sweep.json";
  const nlohmann::json facts = base::parse_json(base::read_file(path), path);
  const std::string best = sweep.path + "/best.yaml";
  Json rows = Json::array();
  for (const sweep::SweepRow& row : kept.rows) rows.push_back(json_of_row(row));
  return text_of({{"name", sweep.name},
                  {"nnodes", facts.contains("nnodes") ? base::json_int(facts, "nnodes", path) : 1},
                  {"nproc", facts.contains("nproc") ? base::json_int(facts, "nproc", path) : 1},
                  {"settings", base::json_string(facts, "settings", path)},
                  {"training", file_of_sweep(best).is_there ? Json(base::read_file(best)) : Json(nullptr)},
                  {"rows", std::move(rows)}});
}

}  // namespace troika::serve
