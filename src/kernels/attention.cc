#include "kernels/attention.h"

#include <ATen/ATen.h>

#include <cmath>

#include "cpu/attention.h"
#include "kernels/cpu_bodies.h"
#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {
namespace {

// fp32 with contiguous rows of a head.
at::Tensor operand(const at::Tensor& x_BTnH) {
  const at::Tensor xf = to_float(x_BTnH);
  return xf.stride(3) == 1 ? xf : xf.contiguous();
}

cpu::Heads heads(const at::Tensor& x) { return {x.data_ptr<float>(), x.stride(0), x.stride(1), x.stride(2)}; }
cpu::MutableHeads mutable_heads(const at::Tensor& x) {
  return {x.data_ptr<float>(), x.stride(0), x.stride(1), x.stride(2)};
}

at::Tensor empty_float(const at::Tensor& like) {
  return at::empty(like.sizes(), like.options().dtype(at::kFloat).memory_format(at::MemoryFormat::Contiguous));
}

// What both directions read, kept alive while they run.
struct Operands {
  explicit Operands(const AttentionInput& input)
      : q(operand(input.q_BTnH)), k(operand(input.k_BSkH)), v(operand(input.v_BSkH)) {
    op.B = q.size(0);
    op.T = q.size(1);
    op.S = k.size(1);
    op.n = q.size(2);
    op.k = k.size(2);
    op.H = q.size(3);
    op.kv_of_head = input.kv_of_head.data();
    op.q_offset = input.q_offset;
    op.k_offset = input.k_offset;
    op.scale = 1.0 / std::sqrt(static_cast<double>(op.H));
    if (!input.first_key_BT.defined()) return;
    first_key = input.first_key_BT.contiguous();
    op.first_key = first_key.data_ptr<std::int64_t>();
  }
  at::Tensor q, k, v, first_key;
  cpu::Attention op;
};

AttentionOutput cpu_forward(const AttentionInput& input) {
  const Operands x(input);
  const at::Tensor out_BTnH = empty_float(x.q), lse_BnT = at::empty({x.op.B, x.op.n, x.op.T}, out_BTnH.options());
  cpu::attention_forward(x.op, heads(x.q), heads(x.k), heads(x.v), mutable_heads(out_BTnH), lse_BnT.data_ptr<float>());
  return {to_dtype_of(input.q_BTnH, out_BTnH), lse_BnT};
}

AttentionGradients cpu_backward(const at::Tensor& dout_BTnH, const AttentionInput& input,
                                const AttentionOutput& output) {
  const Operands x(input);
  const at::Tensor out = operand(output.out_BTnH), dout = operand(dout_BTnH), lse = output.lse_BnT.contiguous();
  const at::Tensor dq = empty_float(x.q), dk = empty_float(x.k), dv = empty_float(x.v);
  cpu::attention_backward(x.op, heads(x.q), heads(x.k), heads(x.v), {heads(out), heads(dout), lse.data_ptr<float>()},
                          mutable_heads(dq), mutable_heads(dk), mutable_heads(dv));
  return {to_dtype_of(input.q_BTnH, dq), to_dtype_of(input.k_BSkH, dk), to_dtype_of(input.v_BSkH, dv)};
}

}  // namespace

AttentionOutput attention_forward(const AttentionInput& input) {
  if constexpr (has_cpu_bodies) {
    if (input.q_BTnH.is_cpu()) return cpu_forward(input);
  }
  return reference::attention_forward(input);
}

void attention_merge(AttentionOutput& sum, const AttentionOutput& part) {
  return reference::attention_merge(sum, part);
}

AttentionGradients attention_backward(const at::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output) {
  if constexpr (has_cpu_bodies) {
    if (input.q_BTnH.is_cpu()) return cpu_backward(dout_BTnH, input, output);
  }
  return reference::attention_backward(dout_BTnH, input, output);
}

}  // namespace troika::kernels
