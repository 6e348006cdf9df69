#include "commands/roofline/pytorch_kernels.h"

#include "shape/architecture.h"
#include "shape/layout.h"

namespace troika::commands {
namespace {

using shape::Operation;
using shape::Pass;
using Kernels = std::vector<AtenKernel>;

constexpr std::int64_t half = 2;  // bytes of an element

double real(std::int64_t x) { return static_cast<double>(x); }

Kernels operator+(Kernels first, const Kernels& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// --- norms ----------------------------------------------------------------------------------------------------------

// x.to(fp32); pow(2).mean(-1); x * rsqrt(... + eps); .to(bf16); weight * x. Statistics of rows are left out.
Kernels rms_norm_forward(Per per) {
  return {{"to fp32", 6, per}, {"pow", 8, per},     {"mean", 4, per},
          {"mul", 8, per},     {"to bf16", 6, per}, {"mul by the weight", 4, per}};
}

// In the order of autograd; two gradients of x in fp32 are added, one by the factor, one by the mean of squares.
Kernels rms_norm_backward(Per per) {
  return {{"mul: of x", 4, per},
          {"mul: of the weight", 6, per},
          {"sum: of the weight", 2, per},
          {"to fp32", 6, per},
          {"mul: of x", 8, per},
          {"mul: of the factor", 12, per},
          {"sum: of the factor", 4, per},
          {"div: of the mean", 4, per},
          {"pow: of the square", 8, per},
          {"mul: of the square", 8, per},
          {"mul: of the square", 12, per},
          {"add", 12, per},
          {"to bf16", 6, per}};
}

bool has_rms_norm(const config::ModelSettings& model) {
  return shape::architecture_of(model).norm == shape::Architecture::NormKind::rms;
}

Kernels norm_forward(const config::ModelSettings& model) {
  return has_rms_norm(model) ? rms_norm_forward(Per::D) : Kernels{{"native_layer_norm", 4, Per::D}};
}

Kernels norm_backward(const config::ModelSettings& model) {
  if (has_rms_norm(model)) return rms_norm_backward(Per::D);
  return {{"native_layer_norm_backward", 6, Per::D}, {"native_layer_norm_backward: of weight and bias", 4, Per::D}};
}

Kernels eager_norm(const config::ModelSettings& model, Pass pass) {
  return pass == Pass::forward ? norm_forward(model) : norm_backward(model);
}

// One kernel for the rows; in a backward another sums over the matrix's rows.
Kernels compiled_norm(double bytes, Pass pass) {
  if (pass == Pass::forward) return {{"sum and norm", bytes, Per::D}};
  return {{"norm and sum", bytes, Per::D}, {"sum: of the weight", 4, Per::D}};
}

// --- rotation -------------------------------------------------------------------------------------------------------

// x * cos + rotate_half(x) * sin, rotate_half = cat(-x2, x1).
Kernels rope_forward() {
  return {{"mul by cos", 4, Per::heads},
          {"neg: of a half", 2, Per::heads},
          {"cat", 4, Per::heads},
          {"mul by sin", 4, Per::heads},
          {"add", 6, Per::heads}};
}

Kernels rope_backward() {
  return {{"mul by cos", 4, Per::heads},
          {"mul by sin", 4, Per::heads},
          {"neg: of a half", 2, Per::heads},
          {"slice_backward: zeros and copy", 4, Per::heads},
          {"slice_backward: zeros and copy", 4, Per::heads},
          {"add", 6, Per::heads},
          {"add", 6, Per::heads}};
}

Kernels rotation(const config::ModelSettings& model, Pass pass, PyTorchMode mode) {
  const bool normed = shape::block_kind(model, 1).norms_heads();
  const bool forward = pass == Pass::forward;
  if (mode == PyTorchMode::eager) {
    if (!normed) return forward ? rope_forward() : rope_backward();
    return forward ? rms_norm_forward(Per::heads) + rope_forward() : rope_backward() + rms_norm_backward(Per::heads);
  }
  if (forward || !normed) return {{normed ? "norm and rotation" : "rotation", 4, Per::heads}};
  return {{"rotation and norm", 6, Per::heads}, {"sum: of the weight", 4, Per::heads}};
}

// --- the rest of a block --------------------------------------------------------------------------------------------

Kernels activation(const config::ModelSettings& model, Pass pass, PyTorchMode mode) {
  const bool forward = pass == Pass::forward;
  if (shape::block_kind(model, 1).activation_inputs() == 1)
    return forward ? Kernels{{"gelu", 4, Per::F}} : Kernels{{"gelu_backward", 6, Per::F}};
  if (mode == PyTorchMode::compiled)
    return forward ? Kernels{{"silu and mul", 6, Per::F}} : Kernels{{"their gradients", 10, Per::F}};
  if (forward) return {{"silu", 4, Per::F}, {"mul", 6, Per::F}};
  return {{"mul: of up", 6, Per::F}, {"mul: of the gate", 6, Per::F}, {"silu_backward", 6, Per::F}};
}

// Projections of one input that transformers keeps apart: q, k, v; gate, up.
std::int64_t parts_of(const config::ModelSettings& model, Operation operation) {
  if (operation == Operation::qkv_product) return model.architecture == config::Family::gpt2 ? 1 : 3;
  return operation == Operation::up_product ? shape::block_kind(model, 1).activation_inputs() : 1;
}

shape::Product product_of(const config::ModelSettings& model, Operation operation) {
  for (const shape::Product& product : shape::block_products(model, shape::block_kind(model, 1)))
    if (product.operation == operation) return product;
  return {operation, model.hidden, model.vocab};
}

// Each part reads the input, and gives a gradient of it; gradients of weights are bf16.
PyTorchKernels product(const PyTorchStep& step, const shape::OperationCost& ours, PyTorchMode mode) {
  const shape::Product product = product_of(step.model, ours.operation);
  const std::int64_t parts = parts_of(step.model, ours.operation);
  PyTorchKernels result;
  result.call.flops = ours.work.flops;
  result.call.bytes = real(half) * (real(step.M) * real(parts * product.inputs + product.outputs) + product.weights());
  if (ours.pass != Pass::input_gradient || parts == 1) return result;
  if (mode == PyTorchMode::eager) {
    for (std::int64_t i = 1; i < parts; ++i) result.kernels.push_back({"add", 6, Per::D});
  } else {
    result.kernels.push_back({"read by the kernel behind it", 2 * real(parts - 1), Per::D});
  }
  return result;
}

// Flash attention's backward gives keys and values a gradient for every query head.
PyTorchKernels attention(const PyTorchStep& step, const shape::OperationCost& ours) {
  if (ours.pass == Pass::forward || step.model.heads == step.model.kv_heads) return {ours.work, {}};
  const std::int64_t q = step.model.heads * step.model.head_dim, kv = step.model.kv_heads * step.model.head_dim;
  return {{ours.work.flops, real(half * step.M) * real(6 * q + 2 * kv)},
          {{"sum over groups: read", 4, Per::queries}, {"sum over groups: written", 4, Per::keys}}};
}

// --- outside the blocks ---------------------------------------------------------------------------------------------

bool has_learned_positions(const config::ModelSettings& model) {
  return shape::architecture_of(model).positions == shape::Architecture::Positions::learned;
}

Kernels embedding(const config::ModelSettings& model, Pass pass, PyTorchMode mode) {
  const bool learned = has_learned_positions(model);
  if (pass == Pass::forward) {
    if (!learned) return {{"embedding", 4, Per::D}};
    if (mode == PyTorchMode::compiled) return {{"embedding and add", 4, Per::D}};
    return {{"embedding", 4, Per::D}, {"add", 4, Per::D}};
  }
  Kernels kernels{{"embedding_dense_backward: zeros", 2, Per::table}, {"embedding_dense_backward: rows", 4, Per::D}};
  if (learned) kernels.push_back({"sum: of positions", 2, Per::D});
  if (model.tie_embeddings) kernels.push_back({"add: of the table's two gradients", 6, Per::table});
  return kernels;
}

Kernels cross_entropy(PyTorchMode mode) {
  if (mode == PyTorchMode::compiled) return {{"log-softmax and loss", 2, Per::logit}, {"its gradient", 4, Per::logit}};
  return {{"to fp32", 6, Per::logit},
          {"_log_softmax", 8, Per::logit},
          {"nll_loss_backward: zeros", 4, Per::logit},
          {"_log_softmax_backward_data", 12, Per::logit},
          {"to bf16", 6, Per::logit}};
}

// --- once per step --------------------------------------------------------------------------------------------------

Kernels gradient_sum(std::int64_t microbatches) {
  Kernels kernels{{"to fp32: of the first", 6, Per::parameter}};
  if (microbatches > 1) kernels.push_back({"add: of the others", 10 * real(microbatches - 1), Per::parameter});
  return kernels;
}

Kernels adamw(PyTorchMode mode) {
  if (mode == PyTorchMode::compiled) return {{"_fused_adamw_", 28, Per::parameter}, {"to bf16", 6, Per::parameter}};
  return {{"_foreach_mul_: decay", 8, Per::parameter},
          {"_foreach_lerp_: m", 12, Per::parameter},
          {"_foreach_mul_: v", 8, Per::parameter},
          {"_foreach_addcmul_: v", 12, Per::parameter},
          {"_foreach_sqrt", 8, Per::parameter},
          {"_foreach_div_", 8, Per::parameter},
          {"_foreach_add_: eps", 8, Per::parameter},
          {"_foreach_addcdiv_", 16, Per::parameter},
          {"to bf16", 6, Per::parameter}};
}

double elements_of(const PyTorchStep& step, Per per) {
  const config::ModelSettings& m = step.model;
  const double M = real(step.M);
  switch (per) {
    case Per::D:
      return M * real(m.hidden);
    case Per::heads:
      return M * real((m.heads + m.kv_heads) * m.head_dim);
    case Per::queries:
      return M * real(m.heads * m.head_dim);
    case Per::keys:
      return M * real(m.kv_heads * m.head_dim);
    case Per::F:
      return M * real(m.ffn);
    case Per::logit:
      return M * real(m.vocab);
    case Per::table:
      return real(m.vocab * m.hidden);
    case Per::parameter:
      return real(shape::parameter_count(m));
  }
  return 0;
}

}  // namespace

PyTorchKernels pytorch_kernels(const PyTorchStep& step, const shape::OperationCost& ours, PyTorchMode mode) {
  const bool eager = mode == PyTorchMode::eager, forward = ours.pass == Pass::forward;
  const config::ModelSettings& model = step.model;
  switch (ours.operation) {
    case Operation::add_norm:
      if (!eager) return {{}, compiled_norm(8, ours.pass), 2};
      return {{}, eager_norm(model, ours.pass) + Kernels{{"add: of the residual", 6, Per::D}}, 2};
    case Operation::final_norm:
      return {{}, eager ? eager_norm(model, ours.pass) : compiled_norm(forward ? 4 : 6, ours.pass)};
    case Operation::rotation:
      return {{}, rotation(model, ours.pass, mode)};
    case Operation::activation:
      return {{}, activation(model, ours.pass, mode)};
    case Operation::attention:
      return attention(step, ours);
    case Operation::bias:  // of addmm's epilogue; its gradient is a sum over rows
      return {forward ? shape::Work{} : ours.work, {}};
    case Operation::qkv_product:
    case Operation::o_product:
    case Operation::up_product:
    case Operation::down_product:
    case Operation::output_product:
      return product(step, ours, mode);
    case Operation::embedding:
      return {{}, embedding(model, ours.pass, mode)};
    case Operation::cross_entropy:
      return {{}, cross_entropy(mode)};
    case Operation::logits_dtype:
      return {};  // among the loss's
    case Operation::gradient_sum:
      return {{}, gradient_sum(step.microbatches)};
    case Operation::gradient_norm:
      return {{}, {{"_foreach_norm", 4, Per::parameter}, {"_foreach_mul_: clipping", 8, Per::parameter}}};
    case Operation::adamw:
      return {{}, adamw(mode)};
  }
  return {};
}

double bytes_of(const PyTorchStep& step, const PyTorchKernels& kernels) {
  double sum = 0;
  for (const AtenKernel& kernel : kernels.kernels) sum += kernel.bytes * elements_of(step, kernel.per);
  return kernels.call.bytes + kernels.times * sum;
}

double seconds_of(const PyTorchStep& step, const PyTorchKernels& kernels, const plan::DeviceRates& rates) {
  return bound_time(kernels.call, rates).seconds +
         (bytes_of(step, kernels) - kernels.call.bytes) / rates.bytes_per_second;
}

}  // namespace troika::commands
