#include "sweep/kept.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "config/config.h"
#include "sweep/summary_csv.h"

namespace troika::sweep {

static void refuse_other(const std::string& folder, const base::Text& what) {
  throw base::ConfigError(
      base::say("{} holds a sweep of another training ({}): choose another --out, or delete it", folder, what));
}

void keep_basis(const std::string& folder, const SweepBasis& basis) {
  const std::string path = folder + "/sweep.json", yaml = config::to_yaml(basis.settings);
  if (!base::file_exists(path)) {
    const nlohmann::ordered_json facts = {
        {"format", 1}, {"nnodes", basis.nnodes}, {"nproc", basis.nproc}, {"settings", yaml}};
    return base::write_file_atomic(path, facts.dump(2) + "\n");
  }
  const nlohmann::json facts = base::parse_json(base::read_file(path), path);
  if (base::json_int(facts, "format", path) != 1) refuse_other(folder, base::say("of another version of Troika"));
  for (const auto& [name, now] : {std::pair{"nnodes", basis.nnodes}, std::pair{"nproc", basis.nproc}}) {
    const std::int64_t was = facts.contains(name) ? base::json_int(facts, name, path) : 1;
    if (was != now) refuse_other(folder, base::say("--{} was {} and is {}", name, was, now));
  }
  const std::string kept = base::json_string(facts, "settings", path);
  if (kept != yaml) refuse_other(folder, base::say("{} differs", config::first_difference(kept, yaml)));
}

SweepRows kept_rows(const std::string& folder) {
  const std::string path = folder + "/summary.csv";
  return base::file_exists(path) ? parse_csv(base::read_file(path), path) : SweepRows{};
}

bool is_to_be_run_again(const SweepRow& row, double deadline_seconds) {
  return row.status == SweepStatus::interrupted ||
         (row.status == SweepStatus::timeout && row.seconds < deadline_seconds);
}

}  // namespace troika::sweep
