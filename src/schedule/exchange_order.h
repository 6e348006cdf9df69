// Replicas talk over one channel, where what is started first meets what is started first.
#pragma once

#include "schedule/instruction.h"

namespace troika::schedule {

// BugError when the dp lanes of a pp rank start their exchanges (gather_params, reduce_grads, gather_grads) in
// different orders. For programs whose exchanges all have their partners.
void check_exchange_order(const Program& program);

}  // namespace troika::schedule
