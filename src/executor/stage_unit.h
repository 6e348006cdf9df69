// What a rank keeps for one stage: its parameters, the canonical sum of their gradients and the optimizer's state.
#pragma once

#include <ATen/core/Tensor.h>

#include "config/settings.h"
#include "model/stage.h"
#include "optimizer/optimizer.h"
#include "sharding/canonical_sum.h"
#include "tensor/ledger.h"

namespace troika::executor {

std::vector<optimizer::Parameter> optimizer_parameters(const model::StageLayout& layout);

struct StageUnit {
  model::Stage stage;
  sharding::CanonicalSum sum;
  optimizer::AdamW optimizer;
  at::Tensor total;  // the step's gradient, from reduce_grads until the step ends

  StageUnit(model::Stage s, const config::OptimizerSettings& settings, std::int64_t microbatches, int dp_rank, int dp,
            tensor::Ledger& ledger)
      : stage(std::move(s)),
        sum(stage.layout().gradient_elements, microbatches, dp_rank, dp, stage.parameters().device(), ledger),
        optimizer(optimizer_parameters(stage.layout()), stage.parameters(), settings, ledger) {}
};

}  // namespace troika::executor
