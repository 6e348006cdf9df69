// What the decoder's tests share: a small model cut into stages, tokens, and one forward and backward through them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "config/settings.h"
#include "model/stage.h"

namespace troika::model {

// 4 blocks (6 segments), hidden 64, heads 4, kv heads 2, head_dim 16, ffn 192, vocab 259.
config::ModelSettings small_model(bool tied);

// Initialised stages; `cuts` are the segments where stages begin, and the end: {0, 3, 6}.
std::vector<Stage> make_stages(const config::ModelSettings& model, std::int64_t positions, const std::vector<int>& cuts,
                               const c10::Device& device);

// Random ids and targets; every `silent`-th target is -100 (0: none).
Tokens make_tokens(const config::ModelSettings& model, std::int64_t B, std::int64_t T, std::int64_t silent,
                   const c10::Device& device);

struct Gradients {
  kernels::LossSum loss;
  std::vector<at::Tensor> leaves;  // one per stage, flat, gradient_elements
};

// Runs all stages forward, then all backward. The leaves hold `filler` before they are written.
Gradients forward_backward(const std::vector<Stage>& stages, const Tokens& tokens, double filler);

// The gradient of one parameter by name, both uses of a tied table added.
at::Tensor gradient_of(const std::vector<Stage>& stages, const Gradients& gradients, const std::string& name);

}  // namespace troika::model
