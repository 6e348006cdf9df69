// The files that Troika maintains in a run's folder (docs/guides/checkpoints.md), which no other output may overwrite
// or redirect.
#pragma once

#include <array>
#include <string_view>

namespace troika::records {

inline constexpr std::array<std::string_view, 8> own_files = {"config.yaml",  "events.jsonl", "launch.lock", "metrics.jsonl",
                                                              "products.txt", "run.lock",     "run.log",     "state.json"};
inline constexpr std::array<std::string_view, 5> own_folders = {"checkpoints", "logs", "records", "timeline",
                                                                "tokenizer"};

}  // namespace troika::records
