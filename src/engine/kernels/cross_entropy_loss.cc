// A row's term is log sum_V exp(logit) - the target's logit, its weight 1; rows with target -100 carry no loss. Divided by how many
// do.
#include "kernels/vocabulary.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/row_loss.h"
#include "tensor/operations.h"

namespace troika::kernels {
namespace {

constexpr std::int64_t no_loss = -100;

class CrossEntropy final : public RowLoss {
 public:
  tensor::Tensor weights(const tensor::Tensor& targets_M, double scale) const override {
    if (!targets_M.is_cpu()) return on_cuda::weights_of(targets_M, no_loss, scale);
    const tensor::Tensor weight_M = tensor::empty({targets_M.elements()}), targets = targets_M.contiguous();
    for (std::int64_t i = 0; i < targets.elements(); ++i)
      weight_M.data<float>()[i] = targets.data<std::int64_t>()[i] == no_loss ? 0.0f : static_cast<float>(scale);
    return weight_M;
  }

  tensor::Tensor sum(const OutputLossPart& whole, const tensor::Tensor& targets_M) const override {
    if (!targets_M.is_cpu()) return on_cuda::loss_sum(whole.lse_M, whole.target_M, targets_M, no_loss);
    const tensor::Tensor losses_M = whole.lse_M.clone();
    tensor::add(losses_M, whole.target_M, -1);
    const tensor::Tensor targets = targets_M.contiguous(), sum_2 = tensor::zeros({2}, tensor::Dtype::fp64);
    const float* losses = losses_M.data<float>();
    const auto* target = targets.data<std::int64_t>();
    auto* const sum = sum_2.data<double>();
    for (std::int64_t i = 0; i < losses_M.elements(); ++i) {
      if (target[i] == no_loss) continue;
      sum[0] += static_cast<double>(losses[i]);
      sum[1] += 1;
    }
    return sum_2;
  }

  tensor::Tensor gradient(const LossRows& rows, tensor::Dtype dtype) const override {
    return cross_entropy_gradient(rows.logits_Mv, rows.kept_lse_M, rows.column_M, rows.weight_M, dtype);
  }
};

}  // namespace

std::unique_ptr<const RowLoss> cross_entropy_loss() { return std::make_unique<const CrossEntropy>(); }

}  // namespace troika::kernels
