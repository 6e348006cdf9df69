#include "kernels/rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/parallel.h"
#include "cpu/rows.h"
#include "kernels/cpu_operands.h"
#include "kernels/linear.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/operations.h"

namespace troika::kernels {

static cpu::Rows rows_of(const tensor::Tensor& x_MD) {
  return {x_MD.elements() / x_MD.size(-1), x_MD.size(-1), x_MD.dtype()};
}

tensor::Tensor rms_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, double eps, RmsNormSaved* saved,
                                const tensor::Tensor& plus_MD, Gain gain) {
  if (x_MD.is_cpu()) {
    if (plus_MD.defined()) tensor::add(x_MD, plus_MD);
    const tensor::Tensor x = cpu_operand(x_MD).contiguous(), w = cpu_operand(w_D).contiguous(),
                         y = tensor::empty_like(x);
    const tensor::Tensor rstd_M = empty_statistics(x, x.sizes().slice(0, x.dims() - 1));
    cpu::rms_norm_forward(rows_of(x), x.data(), {w.data(), added_to_weight(gain)}, eps, y.data(), rstd_M.data<float>());
    if (saved != nullptr) saved->rstd_M = rstd_M;
    return to_dtype_of(x_MD, y);
  }
  return on_cuda::rms_norm_forward(x_MD, w_D, eps, saved, plus_MD, gain);
}

tensor::Tensor rms_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                                 const RmsNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& plus_MD, Gain gain) {
  if (x_MD.is_cpu()) {
    const tensor::Tensor dy = cpu_operand(dy_MD).contiguous(), x = cpu_operand(x_MD).contiguous(),
                         dx = tensor::empty_like(x);
    const tensor::Tensor w = cpu_operand(w_D).contiguous();
    const tensor::Tensor plus = plus_MD.defined() ? cpu_operand(plus_MD).contiguous() : tensor::Tensor();
    cpu::rms_norm_backward(rows_of(x), dy.data(), x.data(), {w.data(), added_to_weight(gain)}, saved.rstd_M.data<float>(),
                           plus.defined() ? plus.data() : nullptr, dx.data(), dw_D.data<float>());
    return to_dtype_of(x_MD, dx);
  }
  return on_cuda::rms_norm_backward(dy_MD, x_MD, w_D, saved, dw_D, plus_MD, gain);
}

tensor::Tensor layer_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, const tensor::Tensor& bias_D,
                                  double eps, LayerNormSaved* saved, const tensor::Tensor& plus_MD) {
  if (x_MD.is_cpu()) {
    if (plus_MD.defined()) tensor::add(x_MD, plus_MD);
    const tensor::Tensor x = cpu_operand(x_MD).contiguous(), y = tensor::empty_like(x);
    const tensor::Tensor w = cpu_operand(w_D).contiguous(), bias = cpu_operand(bias_D).contiguous();
    const tensor::Tensor mean_M = empty_statistics(x, x.sizes().slice(0, x.dims() - 1)),
                         rstd_M = tensor::empty_like(mean_M);
    cpu::layer_norm_forward(rows_of(x), x.data(), w.data(), bias.data(), eps, y.data(), mean_M.data<float>(),
                            rstd_M.data<float>());
    if (saved != nullptr) *saved = {mean_M, rstd_M};
    return to_dtype_of(x_MD, y);
  }
  return on_cuda::layer_norm_forward(x_MD, w_D, bias_D, eps, saved, plus_MD);
}

tensor::Tensor layer_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                                   const LayerNormSaved& saved, const tensor::Tensor& dw_D,
                                   const tensor::Tensor& dbias_D, const tensor::Tensor& plus_MD) {
  if (x_MD.is_cpu()) {
    const tensor::Tensor dy = cpu_operand(dy_MD).contiguous(), x = cpu_operand(x_MD).contiguous(),
                         dx = tensor::empty_like(x);
    const tensor::Tensor w = cpu_operand(w_D).contiguous();
    const tensor::Tensor plus = plus_MD.defined() ? cpu_operand(plus_MD).contiguous() : tensor::Tensor();
    cpu::layer_norm_backward(rows_of(x), dy.data(), x.data(), w.data(), saved.mean_M.data<float>(),
                             saved.rstd_M.data<float>(), plus.defined() ? plus.data() : nullptr, dx.data(),
                             dw_D.data<float>(), dbias_D.data<float>());
    return to_dtype_of(x_MD, dx);
  }
  return on_cuda::layer_norm_backward(dy_MD, x_MD, w_D, saved, dw_D, dbias_D, plus_MD);
}

namespace {

tensor::Tensor gated_forward(cpu::Gate gate, const tensor::Tensor& gate_up_M2F) {
  if (!gate_up_M2F.is_cpu()) return on_cuda::gated_forward(gate, gate_up_M2F);
  const tensor::Tensor gate_up = cpu_operand(gate_up_M2F).contiguous();
  const tensor::Tensor h = tensor::empty({gate_up.size(0), gate_up.size(1) / 2}, gate_up.type());
  cpu::gated_forward(gate, rows_of(h), gate_up.data(), h.data());
  return to_dtype_of(gate_up_M2F, h);
}

tensor::Tensor gated_backward(cpu::Gate gate, const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F) {
  if (!gate_up_M2F.is_cpu()) return on_cuda::gated_backward(gate, dh_MF, gate_up_M2F);
  const tensor::Tensor dh = cpu_operand(dh_MF).contiguous(), gate_up = cpu_operand(gate_up_M2F).contiguous();
  const tensor::Tensor gradient = empty_spaced_rows(gate_up.size(0), gate_up.size(1), gate_up.type());
  cpu::gated_backward(gate, rows_of(dh), dh.data(), gate_up.data(), gradient.data(), gradient.stride(0));
  return to_dtype_of(gate_up_M2F, gradient);
}

}  // namespace

tensor::Tensor swiglu_forward(const tensor::Tensor& gate_up_M2F) { return gated_forward(cpu::Gate::silu, gate_up_M2F); }
tensor::Tensor swiglu_backward(const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F) {
  return gated_backward(cpu::Gate::silu, dh_MF, gate_up_M2F);
}
tensor::Tensor geglu_forward(const tensor::Tensor& gate_up_M2F) { return gated_forward(cpu::Gate::gelu, gate_up_M2F); }
tensor::Tensor geglu_backward(const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F) {
  return gated_backward(cpu::Gate::gelu, dh_MF, gate_up_M2F);
}

tensor::Tensor gelu_forward(const tensor::Tensor& x) {
  if (x.is_cpu()) {
    const tensor::Tensor whole = cpu_operand(x).contiguous(), y = tensor::empty_like(whole);
    cpu::gelu_forward(rows_of(whole), whole.data(), y.data());
    return to_dtype_of(x, y);
  }
  return on_cuda::gelu_forward(x);
}

tensor::Tensor gelu_backward(const tensor::Tensor& dy, const tensor::Tensor& x) {
  if (x.is_cpu()) {
    const tensor::Tensor dy_whole = cpu_operand(dy).contiguous(), x_whole = cpu_operand(x).contiguous();
    const tensor::Tensor dx = empty_spaced_rows(x.size(0), x.size(1), x_whole.type());
    cpu::gelu_backward(rows_of(x_whole), dy_whole.data(), x_whole.data(), dx.data(), dx.stride(0));
    return to_dtype_of(x, dx);
  }
  return on_cuda::gelu_backward(dy, x);
}

namespace {

constexpr std::int64_t rows_at_once = 16;

constexpr std::int64_t per_block = 8;  // elements, 16 bits each

// A row of the mask: element e is kept where its bits, number e % 8 of block e / 8, are at least `threshold`.
struct MaskRow {
  std::array<std::uint32_t, 2> key;
  std::uint32_t position, sample, step;
  std::uint32_t threshold;
  float kept;

  void block(std::int64_t index, float* out) const {
    const auto words = base::philox4x32({static_cast<std::uint32_t>(index), position, sample, step}, key);
    for (std::size_t w = 0; w < words.size(); ++w) {
      out[2 * w] = (words[w] & 0xffff) >= threshold ? kept : 0.0f;
      out[2 * w + 1] = words[w] >> 16 >= threshold ? kept : 0.0f;
    }
  }

  void fill(std::int64_t first, std::int64_t count, float* out) const {
    const std::int64_t end = first + count;
    for (std::int64_t begin = first / per_block * per_block; begin < end; begin += per_block) {
      if (begin >= first && begin + per_block <= end) {
        block(begin / per_block, out + (begin - first));
        continue;
      }
      std::array<float, per_block> part;
      block(begin / per_block, part.data());
      const std::int64_t from = std::max(begin, first), to = std::min(begin + per_block, end);
      std::copy(part.begin() + (from - begin), part.begin() + (to - begin), out + (from - first));
    }
  }
};

tensor::Tensor mask_of(const base::Philox& random, const DropoutRows& rows, std::int64_t M, std::int64_t first, std::int64_t I,
                       const DropoutShare& share) {
  const tensor::Tensor mask_MI = tensor::zeros({M, I}, tensor::Dtype::fp32);
  float* const out = mask_MI.data<float>();
  std::vector<DropoutRows::Run> of_row;
  for (const DropoutRows::Run& run : rows.runs)
    for (std::int64_t i = 0; i < run.count; ++i) of_row.push_back({run.sample, run.position + i, 1});
  cpu::parallel_pieces(static_cast<std::int64_t>(of_row.size()), rows_at_once, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      const MaskRow row{random.key(),
                        static_cast<std::uint32_t>(of_row[static_cast<std::size_t>(m)].position),
                        static_cast<std::uint32_t>(of_row[static_cast<std::size_t>(m)].sample),
                        static_cast<std::uint32_t>(rows.step),
                        share.threshold,
                        share.kept};
      row.fill(first, I, out + m * I);
    }
  });
  return mask_MI;
}

}  // namespace

DropoutShare dropout_share(double share) {
  const auto threshold = static_cast<std::uint32_t>(std::min(std::round(std::ldexp(share, 16)), 65535.0));
  return {threshold, static_cast<float>(1 / (1 - std::ldexp(threshold, -16)))};
}

tensor::Tensor dropout(const tensor::Tensor& x_MI, const base::Philox& random, const DropoutRows& rows,
                       std::int64_t first_column, double share) {
  const DropoutShare drawn = dropout_share(share);
  if (x_MI.is_cuda()) return on_cuda::dropout(x_MI, random, rows, first_column, drawn);
  const tensor::Tensor kept_MI = mask_of(random, rows, x_MI.size(0), first_column, x_MI.size(1), drawn),
                       x = to_float(x_MI).contiguous();
  float* const y = kept_MI.data<float>();
  const float* const read = x.data<float>();
  cpu::parallel_pieces(x.elements(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] *= read[i];
  });
  return to_dtype_of(x_MI, kept_MI);
}

}  // namespace troika::kernels
