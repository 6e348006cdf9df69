// What a config.json states of a model's layers: the kinds of their attention, and the factors of what they compute.
#pragma once

#include "config/huggingface/json_keys.h"
#include "config/settings/settings.h"

namespace troika::config {

// Writes layer_types, sliding_window and the scales of `m`, whose architecture and sizes are known. What is not supported is added to the
// problems of `keys`.
void read_layer_kinds(JsonKeys& keys, ModelSettings* m);

}  // namespace troika::config
