
#include <memory>

#include "model/decoder.h"
#include "model/dtype_of.h"
#include "probe/timed_kernel.h"
#include "shape/segment_costs.h"
#include "tensor/tensor.h"

namespace troika::probe {
namespace {

constexpr std::int64_t call_rows = 16;

// A model of which an operation has next to nothing to compute.
config::ModelSettings tiny_model() {
  config::ModelSettings model;
  model.layers = 2;
  model.hidden = 32;
  model.heads = 2;
  model.kv_heads = 1;
  model.head_dim = 16;
  model.ffn = 64;
  model.vocab = 64;
  return model;
}

// Forward and backward of its blocks.
KernelBody passes_of(const tensor::Device& device) {
  const config::ModelSettings settings = tiny_model();
  model::Decoder::Options options;
  options.seq_len = call_rows;
  options.device = device;
  const auto blocks = std::make_shared<model::Decoder>(settings, 1, shape::segment_count(settings) - 1, options);
  blocks->initialise(1, settings.init_std);
  model::Tokens tokens;
  tokens.B = 1;
  tokens.T = tokens.T_whole = call_rows;
  tokens.ids_M = tensor::zeros({call_rows}, tensor::TensorType(tensor::Dtype::int64, device));
  tokens.targets_M = tokens.ids_M;
  const tensor::Tensor x_MD = tensor::ones({call_rows, settings.hidden}, tensor::TensorType(device));
  return [=, gradients = blocks->new_gradients()] {
    model::DecoderResult result = blocks->forward(x_MD, tokens, shape::SavedActivations::all);
    blocks->backward_input(tensor::ones(result.y_mD.sizes(), result.y_mD.type()), tokens, result);
    blocks->backward_weight(gradients, tokens, result);
  };
}

}  // namespace

std::vector<TimedKernel> call_kernels() {
  const config::ModelSettings model = tiny_model();
  const auto operations = shape::block_operations(model, shape::block_kind(model, 1), {1, call_rows}).size();
  const auto calls = static_cast<double>(operations) * static_cast<double>(model.layers);
  return {{"passes of two tiny blocks", KernelKind::call, config::Precision::fp32, {0, 0}, calls, passes_of}};
}

}  // namespace troika::probe
