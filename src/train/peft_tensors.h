// adapter_model.safetensors: which tensor is which parameter of an adapter.
#pragma once

#include <string>

#include "checkpoint/safetensors.h"
#include "checkpoint/weights_match.h"
#include "train/module_pattern.h"

namespace troika::train {

inline const char* const adapter_weights_name = "adapter_model.safetensors";
inline const char* const peft_prefix = "base_model.model.";  // of every tensor's name

// DataError when the folder has none, also where it has one of PyTorch's own.
checkpoint::SafetensorsFile open_peft_weights(const std::string& folder);

// By the names of model::adapter_parameters; refers to `file`. DataError naming the folder that lists every tensor that
// is no A or B beside a product of a layer, has no dtype of weights, or is not meant by `modules`.
checkpoint::Assignment match_peft_tensors(const checkpoint::SafetensorsFile& file, const ModulePattern& modules,
                                          const std::string& folder);

}  // namespace troika::train
