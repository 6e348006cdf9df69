#include "model/segments.h"

#include <fmt/format.h>
#include "base/error.h"
#include "kernels/rows.h"
#include "shape/architecture.h"

namespace troika::model {

// Shares `given`, which somebody else owns, or owns a group of this rank alone.
template <class Group>
static std::shared_ptr<const Group> shared(const Group* given) {
  if (given == nullptr) return std::make_shared<const Group>();
  return {std::shared_ptr<const Group>(), given};
}

Groups groups_of(const Parallelism& parallel) { return {shared(parallel.tensor), shared(parallel.context)}; }

double loss_factor(const Tokens& tokens) { return tokens.loss_scale / static_cast<double>(tokens.loss_rows); }

std::int64_t row_unit(const tensor::Device& device) { return device.is_cpu() ? 1 : shape::gpu_row_unit; }

Tokens lay_out(sharding::Sequences sequences, const sharding::ContextGroup& context, const tensor::Device& device) {
  Tokens tokens;
  const std::int64_t rows = shape::count_rows(sequences, context.rank(), context.size()), unit = row_unit(device);
  tokens.M = (rows + unit - 1) / unit * unit;
  const tensor::Tensor position_M = tensor::zeros({tokens.M}, tensor::Dtype::int64);
  auto* next = position_M.data<std::int64_t>();
  for (const shape::SequenceRows& own : shape::rows_of_sequences(sequences, context.rank(), context.size()))
    for (const shape::Range& chunk : {own.chunks.low, own.chunks.high})
      for (std::int64_t i = chunk.begin; i < chunk.end(); ++i) *next++ = i;
  tokens.position_M = tensor::to_device(position_M, device);
  tokens.sequences = std::move(sequences);
  return tokens;
}

tensor::Tensor gradient_like(const tensor::Tensor& parameter) {
  return tensor::empty(parameter.sizes(), parameter.type().of(tensor::Dtype::fp32));
}

std::int64_t bytes_of(std::initializer_list<const tensor::Tensor*> tensors) {
  std::int64_t sum = 0;
  for (const tensor::Tensor* tensor : tensors) sum += tensor->defined() ? tensor->bytes() : 0;
  return sum;
}

tensor::Tensor view(const tensor::Tensor& flat, const shape::Range& place) {
  return flat.defined() ? flat.narrow(0, place.begin, place.count) : tensor::Tensor();
}

namespace {

class RmsNorm final : public Norm {
 public:
  RmsNorm(std::int64_t elements, double eps, kernels::Gain gain) : Norm(elements), eps_(eps), gain_(gain) {}

  tensor::Tensor forward(const tensor::Tensor& w_E, const tensor::Tensor& x_MD, NormSaved* saved,
                         const tensor::Tensor& plus_MD) const override {
    kernels::RmsNormSaved kept;
    tensor::Tensor y_MD = kernels::rms_norm_forward(x_MD, w_E, eps_, saved == nullptr ? nullptr : &kept, plus_MD, gain_);
    if (saved != nullptr) saved->rstd_M = kept.rstd_M;
    return y_MD;
  }

  tensor::Tensor backward(const tensor::Tensor& w_E, const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD,
                          const NormSaved& saved, const tensor::Tensor& dw_E, const tensor::Tensor& plus_MD) const override {
    return kernels::rms_norm_backward(dy_MD, x_MD, w_E, {saved.rstd_M}, dw_E, plus_MD, gain_);
  }

 private:
  const double eps_;
  const kernels::Gain gain_;
};

class LayerNorm final : public Norm {
 public:
  LayerNorm(std::int64_t elements, std::int64_t width, double eps) : Norm(elements), D(width), eps_(eps) {}

  tensor::Tensor forward(const tensor::Tensor& w_E, const tensor::Tensor& x_MD, NormSaved* saved,
                         const tensor::Tensor& plus_MD) const override {
    kernels::LayerNormSaved kept;
    tensor::Tensor y_MD =
        kernels::layer_norm_forward(x_MD, gain(w_E), bias(w_E), eps_, saved == nullptr ? nullptr : &kept, plus_MD);
    if (saved != nullptr) *saved = {kept.mean_M, kept.rstd_M};
    return y_MD;
  }

  tensor::Tensor backward(const tensor::Tensor& w_E, const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD,
                          const NormSaved& saved, const tensor::Tensor& dw_E, const tensor::Tensor& plus_MD) const override {
    return kernels::layer_norm_backward(dy_MD, x_MD, gain(w_E), {saved.mean_M, saved.rstd_M}, gain(dw_E), bias(dw_E),
                                        plus_MD);
  }

 private:
  tensor::Tensor gain(const tensor::Tensor& flat) const { return flat.narrow(0, 0, D); }
  tensor::Tensor bias(const tensor::Tensor& flat) const { return flat.narrow(0, D, D); }

  const std::int64_t D;
  const double eps_;
};

}  // namespace

std::int64_t NormSaved::bytes() const { return bytes_of({&mean_M, &rstd_M}); }

std::unique_ptr<const Norm> make_norm(const config::ModelSettings& model) {
  const shape::Architecture& architecture = shape::architecture_of(model);
  const std::int64_t elements = shape::norm_sizes(architecture, model.hidden).elements;
  if (architecture.norm == shape::Architecture::NormKind::layer)
    return std::make_unique<LayerNorm>(elements, model.hidden, model.norm_eps);
  return std::make_unique<RmsNorm>(elements, model.norm_eps, gain_of(architecture));
}

kernels::Gain gain_of(const shape::Architecture& architecture) {
  return architecture.norm == shape::Architecture::NormKind::one_plus_rms ? kernels::Gain::one_plus_weight : kernels::Gain::weight;
}

}  // namespace troika::model
