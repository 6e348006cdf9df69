// The timeline folder of a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "schedule/trace/trace.h"

namespace troika::schedule {

struct StepFiles {
  std::map<int, std::string> rank_files;  // world rank -> name
  bool merged = false;                    // the merged file exists
};

// Steps with at least one trace file, by step. Names of other forms are passed over.
std::map<std::int64_t, StepFiles> list_traces(const std::string& folder);

struct FoundTrace {
  StepTrace trace;
  std::string merged_path;
  std::vector<base::Text> notes;   // sentences, such as ranks whose file is missing
};

enum class MergedFile { use_if_present, write_again };

// The trace of a step, from its merged file or from the rank files, which are then merged and written.
FoundTrace load_trace(const std::string& folder, std::int64_t step, const StepFiles& files, MergedFile merged_file);

}  // namespace troika::schedule
