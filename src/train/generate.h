// Draws a continuation from a checkpoint, one token after the other, in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace troika::train {

struct Sampling {
  double temperature = 1.0;  // 0: always the likeliest token
  std::int64_t top_k = 0;    // only the k likeliest; 0: all
  double top_p = 1.0;        // only the likeliest whose probabilities first reach p
  std::uint64_t seed = 1;
};

// Index drawn from `logits` (fp32 values). `u` is uniform in [0, 1). Ties: the lower id is likelier.
std::int64_t draw(const std::vector<float>& logits, const Sampling& sampling, double u);

struct GenerateRequest {
  checkpoint::Found found;
  std::vector<std::int32_t> prompt;  // at least one id
  std::int64_t new_tokens = 100;
  std::int64_t vocab = 0;     // of the tokenizer: ids above are never drawn
  std::int32_t stop_id = -1;  // drawing it ends the text
  Sampling sampling;
};

// Calls `on_token` for each drawn id, in order. The context is the last seq_len ids of the settings in the checkpoint.
void generate(const GenerateRequest& request, const std::function<void(std::int32_t)>& on_token);

}  // namespace troika::train
