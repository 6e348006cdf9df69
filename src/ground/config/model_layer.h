// The lowest layer of settings: the model of a preset, or the one at model.path; and what lora.path implies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/layers.h"
#include "config/settings/settings.h"

namespace troika::config {

// The layer and the assignment for a key that count; null when no layer states it.
struct Choice {
  std::size_t level = 0;
  const Assignment* assignment = nullptr;
};
Choice chosen(const std::vector<Layer>& layers, std::string_view key);

// Sets merged->settings.model to the preset of the highest layer that names one.
void lay_preset(const std::vector<Layer>& layers, MergedSettings* merged);

// The model at model.path, and its tokenizer as data.tokenizer where it has one.
struct PathModel {
  std::string file;  // its config.json
  Settings settings;
};

// Reads it; nothing when no layer states a path. A preset beside it is an error or a note. DataError when no supported
// model is there.
std::optional<PathModel> read_path_model(const std::vector<Layer>& layers, MergedSettings* merged);

// After all layers are laid on the model: an error for each stated setting that contradicts it. A vocabulary of 0 becomes
// the model's; fewer transformer layers mean its first ones.
void check_against(const PathModel& model, const std::vector<Layer>& layers, MergedSettings* merged);

// Where a layer states lora.path: rank, alpha, rslora, patterns, targets and dropout that no layer states become the adapter's,
// and a note says so; an error for each that is stated and by which its adapters would not be those of lora.path (dropout is
// free). Settings that say the same in other words pass: alpha 16 without rslora for rank 4 and alpha 8 with it. After all layers
// are laid. A path that is gone is passed over where a rank is stated. DataError where the adapter cannot be read.
void take_adapter(const std::vector<Layer>& layers, MergedSettings* merged);

}  // namespace troika::config
