// Every replica's range of a buffer to all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/channel.h"
#include "shape/shard_plan.h"
#include "tensor/tensor.h"

namespace troika::sharding {

// Sends this replica's range of `whole`, a flat buffer of any dtype, to the others and receives theirs into it. Only starts
// the messages; `whole` must stay as it is until they are done.
std::vector<comm::Transfer> exchange_ranges(comm::Channel& replicas, const shape::ShardPlan& plan,
                                            const tensor::Tensor& whole, std::uint32_t tag);

}  // namespace troika::sharding
