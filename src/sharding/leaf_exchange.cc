#include "sharding/leaf_exchange.h"

#include <ATen/ATen.h>

#include <utility>

namespace troika::sharding {
using shape::Range;

LeafExchange::LeafExchange(at::Tensor leaf, const shape::ShardPlan& plan, comm::Channel& replicas, std::uint32_t tag)
    : leaf_(std::move(leaf)),
      plan_(plan),
      replicas_(replicas),
      tag_(tag),
      own_range_(leaf_.narrow(0, plan.elements_of(replicas.rank()).begin, plan.elements_of(replicas.rank()).count)) {
  start_round();
}

void LeafExchange::start_round() {
  const int count = replicas_.size(), to = (replicas_.rank() + distance_) % count,
            from = (replicas_.rank() + count - distance_) % count;
  const Range outgoing = plan_.elements_of(to);
  std::vector<comm::Message> in, out;
  if (own_range_.numel() > 0) in.push_back({own_range_, from, tag_});
  if (outgoing.count > 0) out.push_back({leaf_.narrow(0, outgoing.begin, outgoing.count), to, tag_});
  std::vector<comm::Transfer> transfers = replicas_.exchange(in, out);
  if (!in.empty()) incoming_ = std::move(transfers.front());
  if (!out.empty()) sends_.push_back(std::move(transfers.back()));
}

void LeafExchange::finish(const std::function<void(const at::Tensor& range)>& add) {
  for (; distance_ < replicas_.size(); ++distance_) {
    if (distance_ > 1) start_round();
    incoming_.wait();
    if (own_range_.numel() > 0) add(own_range_);
  }
  for (comm::Transfer& send : sends_) send.wait();
  sends_.clear();
}

}  // namespace troika::sharding
