// One pass round the ring of a context-parallel group (context_group.h): the rows of each rank, the keys that
// visit in each step, and the messages between the steps.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "comm/channel.h"
#include "kernels/attention.h"
#include "shape/sequences.h"
#include "sharding/on_wait.h"
#include "tensor/tensor.h"

namespace troika::sharding {

class Ring {
 public:
  // Tags of two classes (comm::message_class), because a rank posts the receive of the next keys before that of the
  // gradients that its neighbour sends first.
  static constexpr std::uint32_t keys_tag = 1, gradients_tag = 2 | 1u << 29;

  Ring(comm::Channel& channel, const std::vector<shape::Sequence>& sequences, const OnWait& on_wait)
      : channel_(channel), sequences_(sequences), rank_(channel.rank()), size_(channel.size()), on_wait_(on_wait) {}

  // The rank whose keys are here in a step.
  int visitor(int step) const { return (rank_ - step + size_) % size_; }
  // What sees each other, this rank's queries and `visitor`'s keys, in calls of attention: one without a window, with one
  // (ScoreRule::window) at most two, because a rank's two chunks of a sequence are apart. No call is empty.
  using Parts = std::vector<kernels::AttentionPart>;
  std::vector<Parts> calls(int visitor, std::int64_t window) const;

  // To and from the neighbours. Empty tensors do not travel: both sides know.
  comm::Transfer send_gradients(const tensor::Tensor& tensor) const { return send(tensor, gradients_tag); }
  comm::Transfer receive_gradients(const tensor::Tensor& tensor) const { return receive(tensor, gradients_tag); }
  void wait(std::initializer_list<comm::Transfer*> transfers) const;

  // A buffer for what belongs to `rank`, shaped like this rank's [2, 1, t, k, H]. Uninitialised.
  tensor::Tensor buffer_of(int rank, const tensor::Tensor& like, tensor::Dtype dtype) const;

  // Calls visit(step, keys and values) as they come by, the next ones on their way meanwhile.
  using Visit = std::function<void(int step, const tensor::Tensor& kv_21tkH)>;
  void travel(tensor::Tensor kv_21tkH, const Visit& visit) const;

 private:
  Parts parts(int visitor) const;
  comm::Transfer send(const tensor::Tensor& tensor, std::uint32_t tag) const;
  comm::Transfer receive(const tensor::Tensor& tensor, std::uint32_t tag) const;

  comm::Channel& channel_;
  const std::vector<shape::Sequence>& sequences_;
  const int rank_, size_;
  const OnWait& on_wait_;
};

}  // namespace troika::sharding
