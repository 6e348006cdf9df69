#include "kernels/row_attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numeric>

#include "cpu/row_attention.h"
#include "kernels/attention.h"
#include "kernels/cpu_bodies.h"
#include "kernels/precision.h"

namespace troika::kernels {
namespace {

at::Tensor operand(const at::Tensor& x_SkH) {
  const at::Tensor x = to_float(x_SkH);
  return x.stride(2) == 1 ? x : x.contiguous();
}

cpu::Heads heads(const at::Tensor& x_SkH) { return {x_SkH.data_ptr<float>(), 0, x_SkH.stride(0), x_SkH.stride(1)}; }

at::Tensor cpu_row_attention(const at::Tensor& q_BnH, const std::vector<KeysAndValues>& sequences) {
  const at::Tensor q = to_float(q_BnH).contiguous(), out_BnH = at::empty(q.sizes(), q.options());
  std::vector<at::Tensor> kept;
  std::vector<cpu::CachedSequence> all;
  for (const KeysAndValues& one : sequences) {
    kept.push_back(operand(one.k_SkH));
    kept.push_back(operand(one.v_SkH));
    all.push_back({one.k_SkH.size(0), heads(kept[kept.size() - 2]), heads(kept.back())});
  }
  const cpu::RowAttention op{q.size(1), sequences.front().k_SkH.size(1), q.size(2),
                             1.0 / std::sqrt(static_cast<double>(q.size(2)))};
  cpu::attend_rows(op, all, q.data_ptr<float>(), out_BnH.data_ptr<float>());
  return to_dtype_of(q_BnH, out_BnH);
}

// The heads that read one key/value head pass for as many positions, since each sees every key.
at::Tensor attend(const at::Tensor& q_nH, const KeysAndValues& sequence) {
  const std::int64_t n = q_nH.size(0), H = q_nH.size(1), S = sequence.k_SkH.size(0), k = sequence.k_SkH.size(1);
  std::vector<std::int64_t> own(static_cast<std::size_t>(k));
  std::iota(own.begin(), own.end(), 0);
  const at::Tensor q_1gkH = q_nH.reshape({1, k, n / k, H}).transpose(1, 2);
  const at::Tensor out_1gkH =
      attention_forward({q_1gkH, sequence.k_SkH.unsqueeze(0), sequence.v_SkH.unsqueeze(0), own, S - 1, 0, {}}).out_BTnH;
  return out_1gkH.transpose(1, 2).reshape({n, H});
}

}  // namespace

at::Tensor row_attention(const at::Tensor& q_BnH, const std::vector<KeysAndValues>& sequences) {
  if (sequences.empty()) return at::empty_like(q_BnH);
  if constexpr (has_cpu_bodies) {
    if (q_BnH.is_cpu()) return cpu_row_attention(q_BnH, sequences);
  }
  std::vector<at::Tensor> out_nH;
  for (std::size_t b = 0; b < sequences.size(); ++b)
    out_nH.push_back(attend(q_BnH[static_cast<std::int64_t>(b)], sequences[b]));
  return at::stack(out_nH);
}

}  // namespace troika::kernels
