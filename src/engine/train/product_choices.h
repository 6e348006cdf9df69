// The algorithms of a run's products on GPUs that were chosen by measurement (train.products measured).
#pragma once

#include <functional>

#include "train/rank_context.h"
#include "train/session.h"

namespace troika::train {

// Collective, before there are groups, with ranks on CPUs too. The choices that the run's folder keeps (docs/formats/products.md), as
// rank 0 reads them, are those of all ranks. Ranks on GPUs measure the other kinds of products that they meet in `passes`
// (Accelerator::measure_products); where several measured one kind, the lowest rank's choice is everybody's. Rank 0 keeps them all
// before it returns. DataError: the file is damaged.
void choose_products(Session& session, const RankContext& context, const tensor::Device& device,
                     const std::function<void()>& passes);

}  // namespace troika::train
