#include "sharding/ring.h"

#include <algorithm>

namespace troika::sharding {

shape::Range Ring::low(int rank) const { return {0, shape::sequence_chunks(T_, rank, size_).low.count}; }

shape::Range Ring::high(int rank) const {
  const shape::SequenceChunks chunks = shape::sequence_chunks(T_, rank, size_);
  return {chunks.low.count, chunks.high.count};
}

std::vector<Piece> Ring::pieces(int visitor) const {
  std::vector<Piece> found;
  const auto add = [&](const shape::Range& q, const shape::Range& k, std::int64_t q_position) {
    if (q.count > 0 && k.count > 0) found.push_back({q, k, q_position});
  };
  if (visitor == rank_) {
    add(low(rank_), low(rank_), 0);
    add(high(rank_), all(rank_), low(rank_).count);
  } else if (visitor < rank_) {
    add(all(rank_), low(visitor), T_);
  } else {
    add(high(rank_), all(visitor), T_);
  }
  return found;
}

tensor::Tensor Ring::keys_before(const tensor::Tensor& position, const Piece& piece, int visitor) const {
  const auto [low, high] = shape::sequence_chunks(T_, visitor, size_);
  const bool both = piece.k.count != low.count;
  const tensor::Tensor before = position.clone();
  auto* const keys = before.data<std::int64_t>();
  for (std::int64_t i = 0; i < before.elements(); ++i) {
    const std::int64_t at = keys[i];
    keys[i] = std::clamp<std::int64_t>(at - low.begin, 0, low.count);
    if (both) keys[i] += std::clamp<std::int64_t>(at - high.begin, 0, high.count);
  }
  return before;
}

comm::Transfer Ring::send(const tensor::Tensor& tensor, std::uint32_t tag) const {
  return tensor.elements() == 0 ? comm::Transfer() : channel_.send(tensor, (rank_ + 1) % size_, tag);
}

comm::Transfer Ring::receive(const tensor::Tensor& tensor, std::uint32_t tag) const {
  return tensor.elements() == 0 ? comm::Transfer() : channel_.recv(tensor, (rank_ + size_ - 1) % size_, tag);
}

void Ring::wait(std::initializer_list<comm::Transfer*> transfers) const {
  on_wait_.during([&] {
    for (comm::Transfer* transfer : transfers) transfer->wait();
  });
}

tensor::Tensor Ring::buffer_of(int rank, const tensor::Tensor& like, tensor::Dtype dtype) const {
  std::vector<std::int64_t> sizes = like.sizes().vec();
  sizes[2] = all(rank).count;
  return tensor::empty(sizes, like.type().of(dtype));
}

void Ring::travel(tensor::Tensor kv_2BtkH, const Visit& visit) const {
  for (int step = 0; step < size_; ++step) {
    tensor::Tensor next;
    comm::Transfer coming, going;
    if (step + 1 < size_) {
      next = buffer_of(visitor(step + 1), kv_2BtkH, kv_2BtkH.dtype());
      coming = receive(next, keys_tag);
      going = send(kv_2BtkH, keys_tag);
    }
    visit(step, kv_2BtkH);
    wait({&coming, &going});
    kv_2BtkH = next;
  }
}

}  // namespace troika::sharding
