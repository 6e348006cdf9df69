#include "train/measure_segments.h"

#include <algorithm>

#include "base/clock.h"
#include "model/decoder.h"
#include "model/dtype_of.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troika::train {
namespace {

constexpr int rounds = 3;

double median_seconds(const model::Decoder& segment, const tensor::Tensor& x_MD, const model::Tokens& tokens) {
  const auto gradients = segment.new_gradients();
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    tensor::synchronize(tokens.ids_M.device());
    const double begin = base::monotonic_seconds();
    model::DecoderResult result = segment.forward(x_MD, tokens, shape::SavedActivations::all);
    const tensor::Tensor dy_MD = result.y_mD.defined() ? tensor::ones(result.y_mD.sizes(), result.y_mD.type()) : tensor::Tensor();
    segment.backward_input(dy_MD, tokens, result);
    segment.backward_weight(gradients, tokens, result);
    tensor::synchronize(tokens.ids_M.device());
    seconds.push_back(base::monotonic_seconds() - begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[rounds / 2];
}

}  // namespace

std::vector<double> measure_segments(const config::Resolved& resolved, const plan::DataFacts& data,
                                     const tensor::Device& device) {
  config::ModelSettings model = resolved.settings.model;
  if (model.vocab == 0) model.vocab = data.vocab;
  const config::Batch& batch = resolved.batch;
  model::Tokens tokens;
  tokens.B = 1;  // every sequence of a microbatch costs the same
  tokens.T = tokens.T_whole = batch.seq_len;
  tokens.ids_M = tensor::zeros({batch.seq_len}, tensor::TensorType(tensor::Dtype::int64, device));
  tokens.targets_M = tokens.ids_M;
  model::Decoder::Options options;
  options.seq_len = batch.seq_len;
  options.device = device;
  options.dtype = model::dtype_of(resolved.settings.precision.compute);
  const tensor::Tensor x_MD =
      tensor::ones({batch.seq_len, model.hidden}, tensor::TensorType(options.dtype, device));
  const auto seconds_of = [&](int segment) {
    const model::Decoder one(model, segment, segment + 1, options);
    one.initialise(1, model.init_std);
    return median_seconds(one, segment == 0 ? tensor::Tensor() : x_MD, tokens);
  };
  const int head = shape::segment_count(model) - 1;
  std::vector<double> seconds(static_cast<std::size_t>(head) + 1, seconds_of(1));
  seconds.front() = seconds_of(0);
  seconds.back() = seconds_of(head);
  return seconds;
}

}  // namespace troika::train
