// How a run's GPU computes attention.
#pragma once

#include "base/language.h"
#include "mesh/mesh.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

namespace troika::train {

// Why attention of the rank at `at` is by products in chunks, in any of its pieces; empty: its device's library computes it all, or the
// device is the CPU. Known before the first step: it depends on sizes, types, documents and the device alone.
base::Text attention_note(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device);

}  // namespace troika::train
