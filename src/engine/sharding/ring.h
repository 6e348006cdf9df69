// One pass round the ring of a context-parallel group (context_group.h): the positions of each rank, the keys that
// visit in each step, and the messages between the steps.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "comm/channel.h"
#include "shape/region.h"
#include "sharding/on_wait.h"
#include "tensor/tensor.h"

namespace troika::sharding {

// Some of this rank's queries and some of a visiting rank's keys, from its first on, by local position, that see each
// other: all of them, or causally as if query i of them was at position q_position + i and key i at i.
struct Piece {
  shape::Range q, k;
  std::int64_t q_position = 0;
};

class Ring {
 public:
  // Tags of two classes (comm::message_class), because a rank posts the receive of the next keys before that of the
  // gradients that its neighbour sends first.
  static constexpr std::uint32_t keys_tag = 1, gradients_tag = 2 | 1u << 29;

  Ring(comm::Channel& channel, std::int64_t T, const OnWait& on_wait)
      : channel_(channel), T_(T), rank_(channel.rank()), size_(channel.size()), on_wait_(on_wait) {}

  // The two chunks of a rank as local positions, and both.
  shape::Range low(int rank) const;
  shape::Range high(int rank) const;
  shape::Range all(int rank) const { return {0, high(rank).end()}; }

  // Whose keys are here in a step, and the pairs of chunks that see each other: this rank's queries, `visitor`'s keys.
  int visitor(int step) const { return (rank_ - step + size_) % size_; }
  std::vector<Piece> pieces(int visitor) const;
  // How many of the piece's keys are before a position of the whole sequence; int64, any shape.
  tensor::Tensor keys_before(const tensor::Tensor& position, const Piece& piece, int visitor) const;

  // To and from the neighbours. Empty tensors do not travel: both sides know.
  comm::Transfer send_gradients(const tensor::Tensor& tensor) const { return send(tensor, gradients_tag); }
  comm::Transfer receive_gradients(const tensor::Tensor& tensor) const { return receive(tensor, gradients_tag); }
  void wait(std::initializer_list<comm::Transfer*> transfers) const;

  // A buffer for what belongs to `rank`, shaped like this rank's [2, B, t, k, H]. Uninitialised.
  tensor::Tensor buffer_of(int rank, const tensor::Tensor& like, tensor::Dtype dtype) const;

  // Calls visit(step, keys and values) as they come by, the next ones on their way meanwhile.
  using Visit = std::function<void(int step, const tensor::Tensor& kv_2BtkH)>;
  void travel(tensor::Tensor kv_2BtkH, const Visit& visit) const;

 private:
  comm::Transfer send(const tensor::Tensor& tensor, std::uint32_t tag) const;
  comm::Transfer receive(const tensor::Tensor& tensor, std::uint32_t tag) const;

  comm::Channel& channel_;
  const std::int64_t T_;
  const int rank_, size_;
  const OnWait& on_wait_;
};

}  // namespace troika::sharding
