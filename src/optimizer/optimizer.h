// AdamW over a stage's flat buffers, and the pieces of the gradient norm.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/settings.h"
#include "tensor/ledger.h"

namespace troika::optimizer {

// Where a named parameter lies in the flat buffers.
struct Parameter {
  std::string name;
  std::int64_t offset = 0, elements = 0;
  bool decays = true;  // weight decay applies
  bool counts = true;  // in the norm; false for a copy that another stage counts
};

// Sum of squares per parameter that counts: chunks of 4096 elements, then the fixed tree.
std::map<std::string, double> squares_by_name(const std::vector<Parameter>& parameters, const at::Tensor& gradient);

// From the squares of every parameter in name order (one tree over them) to the norm.
double norm_of(const std::vector<double>& squares_in_name_order);

// Owns m and v (fp32, flat, as long as the parameters), zero at first. One rank's thread.
class AdamW {
 public:
  // `parameters` cover `values` (flat fp32) without gaps, by offset. Both must outlive the optimizer.
  AdamW(std::vector<Parameter> parameters, at::Tensor values, const config::OptimizerSettings& settings,
        tensor::Ledger& ledger);
  ~AdamW();
  AdamW(const AdamW&) = delete;
  AdamW& operator=(const AdamW&) = delete;

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const at::Tensor& m() const { return m_; }
  const at::Tensor& v() const { return v_; }

  // One update with `gradient` (flat, at least as long) times `gradient_scale`. `step` counts from 1.
  void step(const at::Tensor& gradient, double lr, double gradient_scale, std::int64_t step);

 private:
  struct Range {
    std::int64_t begin = 0, count = 0;
    double weight_decay = 0;
  };
  const std::vector<Parameter> parameters_;
  const at::Tensor values_;
  const config::OptimizerSettings settings_;
  tensor::Ledger& ledger_;
  std::vector<Range> ranges_;  // neighbours with equal decay are one
  at::Tensor m_, v_;
};

}  // namespace troika::optimizer
