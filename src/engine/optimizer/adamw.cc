// I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", 2019.
#include "optimizer/update_rule.h"

namespace troika::optimizer {
namespace {

class AdamW final : public UpdateRule {
 public:
  explicit AdamW(const config::OptimizerSettings& settings) : settings_(settings) {}

  void apply(const Update& update, const std::vector<kernels::DecayStretch>& stretches,
             const UpdateTensors& tensors) const override {
    kernels::adamw(numbers(update), stretches, operands(tensors));
  }

  tensor::Tensor apply_summed(const Update& update, const std::vector<kernels::DecayStretch>& stretches,
                              const UpdateTensors& tensors) const override {
    return kernels::adamw_summed(numbers(update), stretches, operands(tensors));
  }

 private:
  kernels::AdamW numbers(const Update& update) const {
    return {update.lr, settings_.beta1, settings_.beta2, settings_.eps, update.number, update.gradient_scale};
  }
  static kernels::AdamWTensors operands(const UpdateTensors& t) {
    return {t.parameter, t.gradient, t.state[0], t.state[1], t.rounded};
  }

  const config::OptimizerSettings settings_;
};

}  // namespace

std::unique_ptr<const UpdateRule> adamw(const config::OptimizerSettings& settings) {
  return std::make_unique<const AdamW>(settings);
}

}  // namespace troika::optimizer
