#include <cmath>

#include "kernels/reference/reference_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels::reference {
namespace {

constexpr std::int64_t piece_elements = std::int64_t{1} << 20;  // what is in double at a time stays small

template <class Visit>
void each_piece(std::int64_t count, Visit visit) {
  for (std::int64_t begin = 0; begin < count; begin += piece_elements)
    visit(begin, std::min(piece_elements, count - begin));
}

at::Tensor rounded(const at::Tensor& x, int shift) { return x.to(at::kDouble).mul_(std::ldexp(1.0, shift)).round_(); }

void note_largest(const at::Tensor& x, const Largest& largest) {
  if (!largest.defined() || x.numel() == 0) return;
  at::Tensor known = largest;
  at::maximum_out(known, largest, x.view(at::kInt).bitwise_and(0x7fffffff).max().view({1}));
}

}  // namespace

void round_to_grid(const at::Tensor& x, int shift, const Largest& largest) {
  note_largest(x, largest);
  each_piece(x.numel(), [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor piece = x.narrow(0, begin, count);
    piece.copy_(rounded(piece, shift).mul_(std::ldexp(1.0, -shift)));
  });
}

void add_on_grid(const at::Tensor& sum, const at::Tensor& x, int shift, Into into, const Largest& largest) {
  note_largest(x, largest);
  each_piece(x.numel(), [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor q = rounded(x.narrow(0, begin, count), shift).to(at::kLong);
    const at::Tensor piece = sum.narrow(0, begin, count);
    into == Into::fresh ? piece.copy_(q) : piece.add_(q);
  });
}

void add_rows_on_grid(const MatrixPart& sum, const at::Tensor& row_r, const at::Tensor& x_rD, int shift,
                      const Largest& largest) {
  note_largest(x_rD.flatten(), largest);
  const std::int64_t D = x_rD.size(1), count = tensor::theirs(sum.elements).numel();
  if (count == 0) return;
  const at::Tensor element = (row_r.unsqueeze(1) * D + at::arange(D, row_r.options())).flatten().sub_(sum.first);
  const at::Tensor outside = (element < 0).logical_or_(element >= count);
  const at::Tensor q = rounded(x_rD.flatten(), shift).to(at::kLong).masked_fill_(outside, 0);
  tensor::theirs(sum.elements).index_add_(0, element.clamp(0, count - 1), q);
}

void from_integers(const at::Tensor& sum, int shift, const at::Tensor& x) {
  each_piece(x.numel(), [&](std::int64_t begin, std::int64_t count) {
    x.narrow(0, begin, count).copy_(sum.narrow(0, begin, count).to(at::kDouble).mul_(std::ldexp(1.0, -shift)));
  });
}

}  // namespace troika::kernels::reference
