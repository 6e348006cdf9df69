#include <ATen/ATen.h>

#include <cmath>

#include "kernels/reference/reference.h"

namespace troika::kernels::reference {
namespace {

constexpr std::int64_t piece_elements = std::int64_t{1} << 20;  // what is in double at a time stays small

template <class Visit>
void each_piece(std::int64_t count, Visit visit) {
  for (std::int64_t begin = 0; begin < count; begin += piece_elements)
    visit(begin, std::min(piece_elements, count - begin));
}

at::Tensor rounded(const at::Tensor& x, int shift) { return x.to(at::kDouble).mul_(std::ldexp(1.0, shift)).round_(); }

MagnitudeBits largest_bits(const at::Tensor& x) {
  if (x.numel() == 0) return 0;
  return static_cast<MagnitudeBits>(x.view(at::kInt).bitwise_and(0x7fffffff).max().item<std::int32_t>());
}

}  // namespace

MagnitudeBits round_to_grid(const at::Tensor& x, int shift) {
  const MagnitudeBits largest = largest_bits(x);
  each_piece(x.numel(), [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor piece = x.narrow(0, begin, count);
    piece.copy_(rounded(piece, shift).mul_(std::ldexp(1.0, -shift)));
  });
  return largest;
}

MagnitudeBits add_on_grid(const at::Tensor& sum, const at::Tensor& x, int shift, Into into) {
  each_piece(x.numel(), [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor q = rounded(x.narrow(0, begin, count), shift).to(at::kLong);
    const at::Tensor piece = sum.narrow(0, begin, count);
    into == Into::fresh ? piece.copy_(q) : piece.add_(q);
  });
  return largest_bits(x);
}

void from_integers(const at::Tensor& sum, int shift, const at::Tensor& x) {
  each_piece(x.numel(), [&](std::int64_t begin, std::int64_t count) {
    x.narrow(0, begin, count).copy_(sum.narrow(0, begin, count).to(at::kDouble).mul_(std::ldexp(1.0, -shift)));
  });
}

}  // namespace troika::kernels::reference
