// The first-time work of a device, done before there are messages beside it.
#pragma once

#include <cstdint>
#include <functional>

#include "base/language.h"
#include "mesh/mesh.h"
#include "plan/plan.h"
#include "tensor/tensor.h"
#include "train/rank_context.h"
#include "train/session.h"

namespace troika::train {

// One microbatch, forward and backward, through an embedding, a block and a head of zeros, as far as the rank at `at` has them
// in the plan and in the sizes that it has there, with groups that pass nothing on. A driver loads a kernel at its first
// launch, a library chooses one for each product, and the pool asks for memory: each may wait until the device is idle, which
// it never is while it waits for a message of a rank that waits likewise. Changes no number of the run: nothing is kept.
// Without room it ends early; the run then says what it lacks. Not warmed are adapters, and the norm and the update, which come
// first when no message is under way.
void warm_up(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device);

// The memory that a GPU was seen to have room for.
struct ProvedMemory {
  bool suffices = false;
  std::int64_t planned = 0, peak = 0;  // of tensors: in the plan, and what they took at most
};
// The same microbatch once more, while memory is held beside it until the rank has what the plan says that it holds when the
// microbatch's operations run, and `reserved` bytes besides. The peaks of the device's pool count from its end on.
ProvedMemory prove_microbatch(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device,
                              std::int64_t reserved);

// Why attention of the rank at `at` is by products in chunks, in any of its pieces; empty: its device's library computes it all, or the
// device is the CPU. Known before the first step: it depends on sizes, types, documents and the device alone.
base::Text attention_note(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device);

// The algorithms of a run's products on GPUs that were chosen by measurement (train.products measured).
// Collective, before there are groups, with ranks on CPUs too. The choices that the run's folder keeps (docs/formats/products.md), as
// rank 0 reads them, are those of all ranks. Ranks on GPUs measure the other kinds of products that they meet in `passes`
// (Accelerator::measure_products); where several measured one kind, the lowest rank's choice is everybody's. Rank 0 keeps them all
// before it returns. DataError: the file is damaged.
void choose_products(Session& session, const RankContext& context, const tensor::Device& device,
                     const std::function<void()>& passes);

}  // namespace troika::train
