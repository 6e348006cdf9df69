// AdamW over a stage's flat buffers, and the pieces of the gradient norm.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/settings.h"
#include "model/layout.h"
#include "model/stage.h"
#include "tensor/ledger.h"

namespace troika::optimizer {

// Sum of squares per named parameter: chunks of 4096 elements, then the fixed tree. A tied copy is left out (its owner
// counts).
std::map<std::string, double> squares_by_name(const model::Stage& stage, const at::Tensor& gradient);

// From the squares of every parameter in name order (one tree over them) to the norm.
double norm_of(const std::vector<double>& squares_in_name_order);

// Owns m and v (fp32, flat, parameter_elements), zero at first. One rank's thread.
class AdamW {
 public:
  AdamW(const model::Stage& stage, const config::OptimizerSettings& settings, tensor::Ledger& ledger);
  ~AdamW();
  AdamW(const AdamW&) = delete;
  AdamW& operator=(const AdamW&) = delete;

  const at::Tensor& m() const { return m_; }
  const at::Tensor& v() const { return v_; }

  // One update with `gradient` (flat, at least parameter_elements) times `gradient_scale`. `step` counts from 1.
  void step(const model::Stage& stage, const at::Tensor& gradient, double lr, double gradient_scale, std::int64_t step);

 private:
  struct Range {
    std::int64_t begin = 0, count = 0;
    double weight_decay = 0;
  };
  config::OptimizerSettings settings_;
  tensor::Ledger& ledger_;
  std::vector<Range> ranges_;  // neighbours with equal decay are one
  at::Tensor m_, v_;
};

}  // namespace troika::optimizer
