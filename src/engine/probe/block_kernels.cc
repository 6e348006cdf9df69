#include <memory>
#include <numeric>

#include "base/say.h"
#include "kernels/attention.h"
#include "kernels/vocabulary.h"
#include "kernels/linear.h"
#include "kernels/rows.h"
#include "kernels/rope.h"
#include "model/decoder.h"
#include "probe/timed_kernel.h"
#include "shape/gpu_chunks.h"
#include "config/choices.h"
#include "shape/segment_costs.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::probe {
namespace {

// A block's microbatch.
struct BlockShape {
  std::int64_t B, T, D, n, k, H, F, v, layers;
  std::int64_t M() const { return B * T; }
  std::int64_t all_heads() const { return n + 2 * k; }
  std::int64_t chunk_rows() const { return std::min(M(), shape::output_loss_chunk_rows(D)); }
};

constexpr BlockShape small_block{4, 256, 256, 4, 2, 64, 768, 4096, 4},
    medium_block{2, 512, 640, 10, 5, 64, 1920, 8192, 8};

// Their attention alone is timed.
constexpr BlockShape short_sequences{16, 64, 256, 4, 2, 64, 768, 4096, 1}, long_sequences{1, 1536, 256, 2, 1, 64, 768, 4096, 1};

constexpr double norm_eps = 1e-6;

KernelBody norm_forward_of(const BlockShape& s, const Operands& o) {
  return [x = o.random({s.M(), s.D}), w = o.random({s.D})] {
    kernels::RmsNormSaved saved;
    kernels::rms_norm_forward(x, w, norm_eps, &saved);
  };
}

KernelBody sum_and_norm_of(const BlockShape& s, const Operands& o) {
  const tensor::Tensor x = o.random({s.M(), s.D}), plus = tensor::zeros(x.sizes(), x.type());
  return [=, w = o.random({s.D})] {
    kernels::RmsNormSaved saved;
    kernels::rms_norm_forward(x, w, norm_eps, &saved, plus);
  };
}

KernelBody residual_of(const BlockShape& s, const Operands& o) {
  const tensor::Tensor y = o.random({s.M(), s.D}), x = tensor::zeros(y.sizes(), y.type());
  return [=] { tensor::add(y, x); };
}

KernelBody norm_backward_of(const BlockShape& s, const Operands& o) {
  const tensor::Tensor x = o.random({s.M(), s.D}), w = o.random({s.D}), dw = o.empty_float({s.D});
  kernels::RmsNormSaved saved;
  kernels::rms_norm_forward(x, w, norm_eps, &saved);
  return [=, dy = o.random({s.M(), s.D}), plus = o.random({s.M(), s.D})] {
    kernels::rms_norm_backward(dy, x, w, saved, dw, plus);
  };
}

// Heads [first, first + count) of the product of queries, keys and values.
tensor::Tensor heads_of(const BlockShape& s, const Operands& o, std::int64_t first, std::int64_t count) {
  return o.random({s.M(), s.all_heads() * s.H}).view({s.B, s.T, s.all_heads(), s.H}).narrow(2, first, count);
}

kernels::RopeTable angles_of(const BlockShape& s, const tensor::Tensor& like) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(s.T));
  std::iota(positions.begin(), positions.end(), 0);
  return kernels::make_rope_table(positions, {s.H, 1e6}, like.device());
}

KernelBody rotation_forward_of(const BlockShape& s, const Operands& o, std::int64_t first, std::int64_t count) {
  const tensor::Tensor x = heads_of(s, o, first, count), w = o.random({s.H});
  return [=, rope = angles_of(s, x)] {
    kernels::QkNormRopeSaved saved;
    kernels::qk_norm_rope_forward(x, w, norm_eps, rope, &saved);
  };
}

KernelBody rotation_backward_of(const BlockShape& s, const Operands& o, std::int64_t first, std::int64_t count) {
  const tensor::Tensor x = heads_of(s, o, first, count), w = o.random({s.H}), dw = o.empty_float({s.H});
  const tensor::Tensor dx = heads_of(s, o, first, count), dy = o.random({s.B, s.T, count, s.H});
  const kernels::RopeTable rope = angles_of(s, x);
  kernels::QkNormRopeSaved saved;
  kernels::qk_norm_rope_forward(x, w, norm_eps, rope, &saved);
  return [=] { kernels::qk_norm_rope_backward(dy, x, w, rope, saved, dx, dw); };
}

KernelBody activation_forward_of(const BlockShape& s, const Operands& o) {
  return [x = o.random({s.M(), 2 * s.F})] { kernels::swiglu_forward(x); };
}

KernelBody activation_backward_of(const BlockShape& s, const Operands& o) {
  return [x = o.random({s.M(), 2 * s.F}), dy = o.random({s.M(), s.F})] { kernels::swiglu_backward(dy, x); };
}

// The cross-entropy of a chunk whose logits forward keeps, halves less their log-sum-exp. The gradient overwrites the logits.
KernelBody cross_entropy_of(const BlockShape& s, const Operands& o, config::Precision precision) {
  const std::int64_t rows = s.chunk_rows();
  const tensor::Tensor values = o.random_float({rows, s.v}), weight_M = tensor::full({rows}, 1e-3, values.type());
  const tensor::Tensor logits_Mv = kernels::empty_spaced_rows(rows, s.v, values.type());
  logits_Mv.copy_from(values);
  const tensor::Tensor column_M = tensor::range(rows, values.type().of(tensor::Dtype::int64));
  const tensor::Dtype dtype = model::dtype_of(precision);
  if (precision == config::Precision::fp32)
    return
        [=] { kernels::cross_entropy_gradient(logits_Mv, kernels::log_sum_exp(logits_Mv), column_M, weight_M, dtype); };
  const tensor::Tensor kept_Mv = tensor::empty(values.sizes(), values.type().of(dtype)), lse_M = tensor::empty_like(weight_M),
                   shifted_M = tensor::zeros(weight_M.sizes(), weight_M.type());
  return [=] {
    kernels::log_sum_exp_and_keep(logits_Mv, lse_M, kept_Mv);
    kernels::cross_entropy_gradient(kept_Mv, shifted_M, column_M, weight_M, dtype);
  };
}

kernels::AttentionInput attention_of(const BlockShape& s, const Operands& o) {
  kernels::AttentionInput in;
  in.q_BTnH = o.random({1, s.M(), s.n, s.H});
  in.k_BSkH = o.random({1, s.M(), s.k, s.H});
  in.v_BSkH = heads_of(s, o, s.n + s.k, s.k).view({1, s.M(), s.k, s.H});
  in.parts = kernels::equal_parts(s.B, s.T);
  for (std::int64_t head = 0; head < s.n; ++head) in.kv_of_head.push_back(head / (s.n / s.k));
  return in;
}

KernelBody attention_forward_of(const BlockShape& s, const Operands& o) {
  return [in = attention_of(s, o)] { kernels::attention_forward(in); };
}

KernelBody attention_backward_of(const BlockShape& s, const Operands& o) {
  const kernels::AttentionInput in = attention_of(s, o);
  return [=, out = kernels::attention_forward(in), dout = o.random(in.q_BTnH.sizes())] {
    kernels::attention_backward(dout, in, out);
  };
}

// The rows of one block of one model in one precision.
class BlockList {
 public:
  BlockList(const BlockShape& shape, config::Precision precision, std::vector<TimedKernel>* kernels)
      : s_(shape),
        precision_(precision),
        element_(static_cast<double>(config::bytes_of(precision))),
        kernels_(kernels) {}

  void add_norms() {
    const double MD = element_ * static_cast<double>(s_.M() * s_.D);
    add(base::say("norm"), 1, {0, 2 * MD}, norm_forward_of);
    add(base::say("sum and norm"), 1, {0, 4 * MD}, sum_and_norm_of);
    add(base::say("sum"), 1, {0, 3 * MD}, residual_of);
    add(base::say("norm backward"), 2, {0, 4 * MD}, norm_backward_of);
  }

  void add_rotations(const base::Text& name, std::int64_t first, std::int64_t count) {
    const double bytes = element_ * static_cast<double>(s_.M() * count * s_.H);
    add(base::say("rotation of {}", name), 1, {0, 2 * bytes},
        [=](const BlockShape& s, const Operands& o) { return rotation_forward_of(s, o, first, count); });
    add(base::say("rotation of {} backward", name), 1, {0, 3 * bytes},
        [=](const BlockShape& s, const Operands& o) { return rotation_backward_of(s, o, first, count); });
  }

  void add_activations() {
    const double MF = element_ * static_cast<double>(s_.M() * s_.F);
    add(base::say("activation"), 1, {0, 3 * MF}, activation_forward_of);
    add(base::say("activation backward"), 1, {0, 5 * MF}, activation_backward_of);
  }

  void add_attention() {
    const double flops = 2.0 * static_cast<double>(s_.M() * s_.n * s_.H * s_.T);
    const double bytes = element_ * static_cast<double>(s_.M() * (2 * s_.n + 2 * s_.k) * s_.H);
    add(base::say("attention"), 1, {flops, bytes}, attention_forward_of, KernelKind::attention);
    add(base::say("attention backward"), 1, {2.5 * flops, 2 * bytes}, attention_backward_of, KernelKind::attention);
  }

  // Beside the logits' three passes in fp32: halves are shifted, rounded, widened, and their gradient is rounded.
  void add_loss() {
    const double each = precision_ == config::Precision::fp32 ? 12 : 12 + 8 + 3 * (4 + element_);
    const double chunks = static_cast<double>(s_.M()) / static_cast<double>(s_.chunk_rows());
    add(base::say("cross entropy"), chunks / static_cast<double>(s_.layers),
        {0, each * static_cast<double>(s_.chunk_rows() * s_.v)},
        [precision = precision_](const BlockShape& s, const Operands& o) { return cross_entropy_of(s, o, precision); });
  }

  void add_all() {
    add_norms();
    add_rotations(base::say("queries"), 0, s_.n);
    add_rotations(base::say("keys"), s_.n, s_.k);
    add_attention();
    add_activations();
    add_loss();
  }

 private:
  template <class BodyOf>
  void add(const base::Text& name, double calls, const shape::Work& work, BodyOf body,
           KernelKind kind = KernelKind::between) {
    kernels_->push_back({base::say("{} D {} B {} T {}", name, s_.D, s_.B, s_.T), kind, precision_, work,
                         calls * static_cast<double>(s_.layers),
                         [s = s_, precision = precision_, body](const tensor::Device& device) -> KernelBody {
                           return body(s, Operands(device, precision));
                         }});
  }

  const BlockShape s_;
  const config::Precision precision_;
  const double element_;
  std::vector<TimedKernel>* const kernels_;
};

}  // namespace

std::vector<TimedKernel> block_kernels(config::Precision precision) {
  std::vector<TimedKernel> kernels;
  for (const BlockShape& shape : {small_block, medium_block}) BlockList(shape, precision, &kernels).add_all();
  return kernels;
}

std::vector<TimedKernel> attention_kernels(config::Precision precision) {
  std::vector<TimedKernel> kernels;
  for (const BlockShape& shape : {short_sequences, long_sequences}) BlockList(shape, precision, &kernels).add_attention();
  return kernels;
}

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
  model::Tokens tokens = model::lay_out({{call_rows, 0, 0}}, sharding::ContextGroup(), device);
  tokens.ids_M = tensor::zeros({tokens.M}, tensor::TensorType(tensor::Dtype::int64, device));
  tokens.targets_M = tokens.ids_M;
  const tensor::Tensor x_MD = tensor::ones({tokens.M, settings.hidden}, tensor::TensorType(device));
  return [=, gradients = blocks->new_gradients()] {
    model::DecoderResult result = blocks->forward(x_MD, tokens, shape::SavedActivations::all);
    blocks->backward_input(tensor::ones(result.y_mD.sizes(), result.y_mD.type()), tokens, result);
    blocks->backward_weight(gradients, tokens, result);
  };
}

}  // namespace

std::vector<TimedKernel> call_kernels() {
  const config::ModelSettings model = tiny_model();
  const auto operations = shape::block_operations(model, shape::block_kind(model, 1), {shape::MicrobatchRows::equal(1, call_rows)}).size();
  const auto calls = static_cast<double>(operations) * static_cast<double>(model.layers);
  return {{base::say("passes of two tiny blocks"), KernelKind::call, config::Precision::fp32, {0, 0}, calls, passes_of}};
}

}  // namespace troika::probe
