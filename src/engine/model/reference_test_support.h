// Independent Qwen3, Qwen2, Llama, Mistral and GPT-2 for autograd, the judges of the decoder: they follow the published architectures and read
// the weights by their published names.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "config/settings/settings.h"
#include "tensor/libtorch_test_support.h"

namespace troika::model {

using Weights = std::map<std::string, at::Tensor>;  // whole tensors, double

// [B, T] ids -> [B, T, V] logits.
at::Tensor reference_logits(const config::ModelSettings& model, const Weights& weights, const at::Tensor& ids_BT);

// The sum of the token losses, a tensor with a graph; targets of -100 have none.
at::Tensor reference_loss_sum(const config::ModelSettings& model, const Weights& weights, const at::Tensor& ids_BT,
                              const at::Tensor& targets_BT);

// Adds to the gradients of all weights of `loss` that require one.
void reference_backward(const at::Tensor& loss);

}  // namespace troika::model
