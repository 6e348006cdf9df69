#include "kernels/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/parallel.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/tensor.h"

namespace troika::kernels {
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

tensor::Tensor mask_of(const base::Philox& random, const DropoutRows& rows, std::int64_t first, std::int64_t I,
                   const DropoutShare& share) {
  const auto T = static_cast<std::int64_t>(rows.positions_T.size());
  tensor::Tensor mask_MI = tensor::empty({rows.B * T, I}, tensor::Dtype::fp32);
  float* const out = mask_MI.data<float>();
  cpu::parallel_pieces(rows.B * T, rows_at_once, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      const MaskRow row{random.key(),
                        static_cast<std::uint32_t>(rows.positions_T[static_cast<std::size_t>(m % T)]),
                        static_cast<std::uint32_t>(rows.first_sample + static_cast<std::uint64_t>(m / T)),
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
  const tensor::Tensor kept_MI = mask_of(random, rows, first_column, x_MI.size(1), drawn), x = to_float(x_MI).contiguous();
  float* const y = kept_MI.data<float>();
  const float* const read = x.data<float>();
  cpu::parallel_pieces(x.elements(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] *= read[i];
  });
  return to_dtype_of(x_MI, kept_MI);
}

}  // namespace troika::kernels
