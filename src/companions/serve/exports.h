// Checkpoints as folders that Hugging Face's tools load, written by `troika export` beside the page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serve/catalog.h"
#include "serve/routes.h"

namespace troika::serve {

struct ExportState {
  std::int64_t step = 0;
  enum class Is { running, done, failed } is = Is::running;
  std::string folder;  // RUN/exports/step-00000100
  std::string text;    // what it said last
};

std::vector<ExportState> exports_of(const std::string& run_folder);  // by step
std::string to_json(const std::vector<ExportState>& exports);

// Of the checkpoint of `step`, or the newest. Returns the folder, which is there when it is done. Refused 404, 409.
std::string export_checkpoint(const Shop& shop, const std::string& name, std::optional<std::int64_t> step);

}  // namespace troika::serve
