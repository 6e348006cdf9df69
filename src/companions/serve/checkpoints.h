// The checkpoints in a run's folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serve/catalog.h"
#include "serve/routes.h"

namespace troika::serve {

// A list of {"step", "time", "bytes", "complete", "tensors", "world_size", "exported"}, the newest first. What its manifest does not
// say is null; bytes: of the files that lie here, other hosts have their own.
std::string checkpoints_json(const std::string& folder);

// The checkpoints of a run that can be named: those with a manifest.
std::string name_of_step(std::int64_t step);                                // "step-00000100"
std::optional<std::int64_t> step_of_name(const std::string& name);          // nothing for another name
std::string step_folder(const std::string& run_folder, std::int64_t step);  // RUN/checkpoints/step-00000100

std::vector<std::int64_t> complete_steps(const std::string& run_folder);  // ascending

// Checkpoints as folders that Hugging Face's tools load, written by `troika export` beside the page.
struct ExportState {
  std::int64_t step = 0;
  enum class Is { running, done, failed } is = Is::running;
  std::string folder;  // RUN/exports/step-00000100
  std::string text;    // what it said last
};

std::vector<ExportState> exports_of(const std::string& run_folder);  // by step
std::string to_json(const std::vector<ExportState>& exports);

// Exports the checkpoint of `step`, or the newest. Returns the folder, which is there when it is done. Refused 404, 409.
std::string export_checkpoint(const RouteContext& context, const std::string& name, std::optional<std::int64_t> step,
                              base::Language language);

}  // namespace troika::serve
