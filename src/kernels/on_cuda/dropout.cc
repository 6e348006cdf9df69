#include "cuda/dropout_dispatch.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {

tensor::Tensor dropout(const tensor::Tensor& x_MI, const base::Philox& random, const DropoutRows& rows,
                   std::int64_t first_column, const DropoutShare& share) {
  const tensor::Tensor x = x_MI.contiguous(), y = tensor::empty_like(x);
  const tensor::Tensor positions_T = tensor::of(rows.positions_T).to(x.device());
  const cuda::DropoutRows of_kernel{dtype_of(x), rows.B, static_cast<std::int64_t>(rows.positions_T.size()), x.size(1),
                                    first_column};
  const cuda::DropoutDraw draw{{random.key()[0], random.key()[1]},
                               static_cast<std::uint32_t>(rows.first_sample),
                               static_cast<std::uint32_t>(rows.step),
                               share.threshold,
                               share.kept};
  dispatch::dropout(OnDevice(x), of_kernel, draw, positions_T.data<std::int64_t>(), x.data(), y.data());
  return y;
}

}  // namespace troika::kernels::on_cuda
