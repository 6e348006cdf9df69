#include "sharding/range_exchange.h"

#include "tensor/tensor.h"

namespace troika::sharding {

std::vector<comm::Transfer> exchange_ranges(comm::Channel& replicas, const shape::ShardPlan& plan,
                                            const tensor::Tensor& whole, std::uint32_t tag) {
  const int count = replicas.size(), rank = replicas.rank();
  const auto range = [&](int replica) {
    const shape::Range elements = plan.elements_of(replica);
    return whole.narrow(0, elements.begin, elements.count);
  };
  std::vector<comm::Message> in, out;
  for (int i = 1; i < count; ++i) {
    const int from = (rank + count - i) % count, to = (rank + i) % count;
    if (plan.elements_of(from).count > 0) in.push_back({range(from), from, tag});
    if (plan.elements_of(rank).count > 0) out.push_back({range(rank), to, tag});
  }
  return replicas.exchange(in, out);
}

}  // namespace troika::sharding
