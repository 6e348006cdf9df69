#include "sharding/leaf_exchange.h"

#include <utility>

namespace troika::sharding {

using shape::Range;

LeafExchange::LeafExchange(tensor::Tensor leaf, const shape::ShardPlan& plan, comm::Channel& replicas,
                           std::uint32_t tag, shape::Receives receives, const NewRange& new_range)
    : leaf_(std::move(leaf)),
      plan_(plan),
      replicas_(replicas),
      tag_(tag),
      own_range_(leaf_.narrow(0, plan.elements_of(replicas.rank()).begin, plan.elements_of(replicas.rank()).count)) {
  start(receives == shape::Receives::in_turn ? 1 : replicas.size() - 1, new_range);
}

// Exchanges with the next `distances` replicas: sends to the one so many further on, receives from the one as many before.
void LeafExchange::start(int distances, const NewRange& new_range) {
  const int count = replicas_.size(), rank = replicas_.rank();
  std::vector<comm::Message> in, out;
  for (const int end = next_ + distances; next_ < end; ++next_) {
    const int to = (rank + next_) % count, from = (rank + count - next_) % count;
    const Range outgoing = plan_.elements_of(to);
    if (own_range_.elements() > 0) in.push_back({in.empty() ? own_range_ : new_range(), from, tag_});
    if (outgoing.count > 0) out.push_back({leaf_.narrow(0, outgoing.begin, outgoing.count), to, tag_});
  }
  std::vector<comm::Transfer> transfers = replicas_.exchange(in, out);
  for (std::size_t i = 0; i < in.size(); ++i) incoming_.push_back({in[i].tensor, std::move(transfers[i])});
  for (std::size_t i = in.size(); i < transfers.size(); ++i) sends_.push_back(std::move(transfers[i]));
}

void LeafExchange::finish(const std::function<void(const tensor::Tensor& range)>& add) {
  for (;;) {
    for (Incoming& incoming : incoming_) {
      incoming.transfer.wait();
      add(incoming.range);
    }
    incoming_.clear();
    if (next_ == replicas_.size()) break;
    start(1, {});
  }
  for (comm::Transfer& send : sends_) send.wait();
  sends_.clear();
}

std::vector<tensor::Tensor> ranges_of(const shape::ShardPlan& plan, const tensor::Tensor& buffer) {
  std::vector<tensor::Tensor> ranges;
  for (int replica = 0; replica < plan.replicas(); ++replica) {
    const Range elements = plan.elements_of(replica);
    ranges.push_back(buffer.narrow(0, elements.begin, elements.count));
  }
  return ranges;
}

std::vector<comm::Transfer> exchange_ranges(comm::Channel& replicas, const shape::ShardPlan& plan,
                                            const tensor::Tensor& whole, std::uint32_t tag) {
  return replicas.gather(ranges_of(plan, whole), tag);
}

}  // namespace troika::sharding
