#include "cuda/dropout_dispatch.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {

// How many positions from `begin` on count up by 1.
static std::int64_t run_of(const std::vector<std::int64_t>& positions, std::int64_t begin) {
  const auto first = positions.begin() + begin;
  const auto last = std::adjacent_find(first, positions.end(), [](std::int64_t a, std::int64_t b) { return b != a + 1; });
  return last == positions.end() ? last - first : last + 1 - first;
}

tensor::Tensor dropout(const tensor::Tensor& x_MI, const base::Philox& random, const DropoutRows& rows,
                   std::int64_t first_column, const DropoutShare& share) {
  const tensor::Tensor x = x_MI.contiguous(), y = tensor::empty_like(x);
  const std::vector<std::int64_t>& positions = rows.positions_T;
  const auto T = static_cast<std::int64_t>(positions.size()), first_count = run_of(positions, 0);
  cuda::DropoutRows of_kernel{dtype_of(x), rows.B, T, x.size(1), first_column, T == 0 ? 0 : positions.front(), first_count};
  if (first_count < T) {
    of_kernel.second = positions[static_cast<std::size_t>(first_count)];
    if (first_count + run_of(positions, first_count) < T) throw base::BugError("dropout of positions in more than two runs");
  }
  const cuda::DropoutDraw draw{{random.key()[0], random.key()[1]},
                               static_cast<std::uint32_t>(rows.first_sample),
                               static_cast<std::uint32_t>(rows.step),
                               share.threshold,
                               share.kept};
  dispatch::dropout(OnDevice(x), of_kernel, draw, x.data(), y.data());
  return y;
}

}  // namespace troika::kernels::on_cuda
