// What the publisher of a model recommends for generation: generation_config.json beside its weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"

namespace troika::inference {

// Members that are absent or null are unset.
struct GenerationConfig {
  std::optional<bool> do_sample;  // false: always the likeliest token
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::int64_t> top_k;
  std::vector<std::int32_t> stop_ids;  // eos_token_id, one or several
};

// Other members are passed over. DataError when a member has another type or is out of range; `origin` is named.
GenerationConfig parse_generation_config(std::string_view json, base::Origin origin);

// That some of its stop ids are not in a vocabulary of so many tokens, and which; "" where all are.
base::Text foreign_stop_ids(const GenerationConfig& config, std::int64_t vocab);

}  // namespace troika::inference
