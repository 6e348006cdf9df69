#include "sharding/range_exchange.h"

#include "tensor/tensor.h"

namespace troika::sharding {

std::vector<comm::Transfer> exchange_ranges(comm::Channel& replicas, const shape::ShardPlan& plan,
                                            const tensor::Tensor& whole, std::uint32_t tag) {
  std::vector<tensor::Tensor> ranges;
  for (int replica = 0; replica < replicas.size(); ++replica) {
    const shape::Range elements = plan.elements_of(replica);
    ranges.push_back(whole.narrow(0, elements.begin, elements.count));
  }
  return replicas.gather(ranges, tag);
}

}  // namespace troika::sharding
