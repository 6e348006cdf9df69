// How a run's GPU computes attention.
#pragma once

#include <string>

#include "plan/plan.h"
#include "tensor/device.h"

namespace troika::train {

// Tells the device whether sums are repeatable, as parallel.reproducible has it. Where its library for attention is missing or does not
// take the run's, the note says why products compute it; "" where it does, and on the CPU. Packed documents are products without a note.
std::string attention_note(const plan::Plan& plan, const tensor::Device& device);

}  // namespace troika::train
