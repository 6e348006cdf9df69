// What a device does for the first time, done before there are messages beside it.
#pragma once

#include "mesh/mesh.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

namespace troika::train {

// One microbatch, forward and backward, through an embedding, a block and a head of zeros, as far as the rank at `at` has them
// in the plan and in the sizes that it has there, with groups that pass nothing on. A driver loads a kernel at its first
// launch, a library chooses one for each product, and the pool asks for memory: each may wait until the device is idle, which
// it never is while it waits for a message of a rank that stands likewise. Changes no number of the run: nothing is kept.
// Without room it ends early; the run then says what it lacks. Not warmed are adapters, and the norm and the update, which come
// first when no message is under way.
void warm_up(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device);

}  // namespace troika::train
