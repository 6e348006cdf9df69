// Which segments of a model a run trains: all, all but train.freeze, or some layers (train.trainable_layers).
// Segments: 0 = embedding, 1..layers = transformer layers, layers + 1 = final norm and head.
#pragma once

#include <vector>

#include "config/batch.h"
#include "config/settings.h"

namespace troika::config {

// By segment, of settings whose model.layers are final. With low-rank adapters none: what is trained is beside
// them. ConfigError naming every part that is wrong.
std::vector<bool> trained_segments(const Settings& settings);

// The same as findings: parts that the model has not, a part of a tied embedding's table, nothing left to train, and
// settings that exclude each other.
void check_freeze(const Settings& settings, Findings* findings);

}  // namespace troika::config
