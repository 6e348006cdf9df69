// For tests: model folders whose numbers identify tensor and element.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "config/settings/settings.h"

namespace troika::weights::testing_support {

// 2 layers, width 12, vocabulary 37, of the family named.
config::ModelSettings tiny_model(const std::string& architecture);

// The parameters of the model as entries of one dtype, in name order.
std::vector<checkpoint::TensorEntry> entries_of(const config::ModelSettings& model, base::Dtype dtype);

// The bytes of a tensor: distinct numbers of moderate size, and where there is room a subnormal, an infinity and a NaN.
std::string bytes_of_tensor(const checkpoint::TensorEntry& entry);

// One safetensors file with these tensors.
void write_weights(const std::string& path, const std::vector<checkpoint::TensorEntry>& entries,
                   const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace troika::weights::testing_support
