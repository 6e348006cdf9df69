// The rank files of a run's timeline folder, as one trace.
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "schedule/trace/trace_json.h"

namespace troika::schedule {

static bool take_prefix(std::string_view* text, std::string_view prefix) {
  if (!base::begins_with(*text, prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

static void note_file(const std::string& name, std::map<std::int64_t, StepFiles>* steps) {
  constexpr std::string_view ending = ".json";
  std::string_view text = name;
  if (!take_prefix(&text, "timeline_batch") || !base::ends_with(text, ending)) return;
  text.remove_suffix(ending.size());
  const std::size_t underscore = text.find('_');
  std::int64_t step = 0, rank = 0;
  if (underscore == std::string_view::npos || !base::parse_int(text.substr(0, underscore), &step) || step < 0) return;
  text.remove_prefix(underscore + 1);
  if (text == "all") {
    (*steps)[step].merged = true;
  } else if (take_prefix(&text, "rank") && base::parse_int(text, &rank) && rank >= 0 &&
             rank <= std::numeric_limits<int>::max()) {
    (*steps)[step].rank_files[static_cast<int>(rank)] = name;
  }
}

std::map<std::int64_t, StepFiles> list_traces(const std::string& folder) {
  std::map<std::int64_t, StepFiles> steps;
  for (const auto& name : base::list_directory(folder)) note_file(name, &steps);
  return steps;
}

static std::string missing_ranks(const StepFiles& files) {
  std::vector<std::string> missing;
  for (int rank = 0; rank < files.rank_files.rbegin()->first; ++rank) {
    if (files.rank_files.count(rank) == 0) missing.push_back(std::to_string(rank));
  }
  return base::join(missing, ", ");
}

static FoundTrace merge_files(const std::string& folder, std::int64_t step, const StepFiles& files) {
  if (files.rank_files.empty()) {
    throw base::DataError(base::say("{} has no rank files of step {} to merge; leave --merge out to read the merged file", folder, step));
  }
  std::vector<RankTrace> ranks;
  for (const auto& [rank, name] : files.rank_files) {
    const std::string path = folder + "/" + name;
    ranks.push_back(read_rank_trace(base::read_regular_file(path, base::most_program_bytes), path));
    if (ranks.back().step == step && ranks.back().timeline.world_rank == rank) continue;
    throw base::DataError(base::say("{} contains step {} of rank {}, which does not match its name", path, ranks.back().step, ranks.back().timeline.world_rank));
  }
  FoundTrace found{merge(ranks), folder + "/" + merged_trace_name(step), {}};
  const std::string missing = missing_ranks(files);
  if (!missing.empty()) {
    found.notes.push_back(
        base::say("no trace of rank {}; copy the file into {} and run again with --merge", missing, folder));
  }
  base::write_file_atomic(found.merged_path, write_chrome(found.trace));
  return found;
}

FoundTrace load_trace(const std::string& folder, std::int64_t step, const StepFiles& files, MergedFile merged_file) {
  if (!files.merged || merged_file == MergedFile::write_again) return merge_files(folder, step, files);
  const std::string path = folder + "/" + merged_trace_name(step);
  return {read_chrome(base::read_regular_file(path, base::most_program_bytes), path), path, {}};
}

}  // namespace troika::schedule
