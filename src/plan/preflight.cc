#include "plan/preflight.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "config/micro_batch.h"
#include "plan/memory_check.h"

namespace troika::plan {
namespace {

// Nothing where there is no such tokenizer here: the ranks will say so.
std::optional<std::int64_t> known_vocabulary(const config::Settings& settings) {
  try {
    return vocabulary_of(settings);
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

bool cuts_by_measured_seconds(const config::Resolved& resolved) {
  return resolved.settings.parallel.stage_balance == config::StageBalance::measured && resolved.layout.pp > 1;
}

// Whether documents are apart is known from the data, which are not open yet; a schedule file was written for one of the
// two. What is wrong with the file make_plan says.
data::Documents documents_of_file(const std::string& path) {
  try {
    const bool apart = !path.empty() && schedule::parse_program(base::read_file(path)).all_load;
    return apart ? data::Documents::apart : data::Documents::joined;
  } catch (const base::Error&) {
    return data::Documents::joined;
  }
}

// With the smallest batch that the ranks may choose from.
config::Resolved with_smallest_batch(const config::Resolved& resolved) {
  if (resolved.batch_candidates.empty()) return resolved;
  return config::with_batch(resolved, resolved.batch_candidates.front());
}

}  // namespace

void check_before_start(const config::Resolved& resolved, const HostRanks& ranks) {
  const std::optional<std::int64_t> vocabulary = known_vocabulary(resolved.settings);
  if (!vocabulary || cuts_by_measured_seconds(resolved)) return;
  DataFacts data;
  data.vocab = *vocabulary;
  data.samples = std::numeric_limits<std::int32_t>::max();  // not known; memory does not depend on it
  data.documents = documents_of_file(resolved.settings.parallel.schedule_file);
  const Plan plan = make_plan(with_smallest_batch(resolved), data);
  for (int rank = ranks.first_rank; rank < ranks.first_rank + ranks.count; ++rank)
    check_memory(plan, mesh::grid_rank_of(plan.shape, rank), {Room::Where::host, ranks.available_bytes, ranks.count});
}

}  // namespace troika::plan
