#include "sharding/ring.h"

#include <algorithm>

namespace troika::sharding {

namespace {

// A chunk of a sequence: its positions, and its first row on its rank.
struct Chunk {
  shape::Range positions;
  std::int64_t first_row;
};
Chunk low(const shape::SequenceRows& of) { return {of.chunks.low, of.rows.begin}; }
Chunk high(const shape::SequenceRows& of) { return {of.chunks.high, of.rows.begin + of.chunks.low.count}; }

void add_part(const Chunk& q, const Chunk& k, std::int64_t window, Ring::Parts* parts) {
  const kernels::CausalWindow both{q.positions.count, k.positions.count, q.positions.begin, k.positions.begin, window};
  if (kernels::sight_of(both) == kernels::Sight::nothing) return;
  parts->push_back({{q.first_row, q.positions.count}, {k.first_row, k.positions.count}, q.positions.begin - k.positions.begin});
}

}  // namespace

std::vector<Ring::Parts> Ring::calls(int visitor, std::int64_t window) const {
  std::vector<Parts> calls;
  if (window == 0) {
    calls.push_back(parts(visitor));
  } else {
    const auto mine = shape::rows_of_sequences(sequences_, rank_, size_), theirs = shape::rows_of_sequences(sequences_, visitor, size_);
    calls.resize(2);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      add_part(low(mine[i]), low(theirs[i]), window, &calls[0]);
      add_part(high(mine[i]), high(theirs[i]), window, &calls[0]);
      add_part(high(mine[i]), low(theirs[i]), window, &calls[1]);
    }
  }
  calls.erase(std::remove_if(calls.begin(), calls.end(), [](const Parts& parts) { return parts.empty(); }), calls.end());
  return calls;
}

// A rank's chunks are in the order of their positions, so its own rows see each other as those of a sequence do.
Ring::Parts Ring::parts(int visitor) const {
  const auto mine = shape::rows_of_sequences(sequences_, rank_, size_), theirs = shape::rows_of_sequences(sequences_, visitor, size_);
  std::vector<kernels::AttentionPart> parts;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    shape::Range q = mine[i].rows, k = theirs[i].rows;
    if (visitor < rank_) k.count = theirs[i].chunks.low.count;
    if (visitor > rank_) q = {q.begin + mine[i].chunks.low.count, mine[i].chunks.high.count};
    if (q.count > 0 && k.count > 0) parts.push_back({q, k, visitor == rank_ ? 0 : k.count});
  }
  return parts;
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
  sizes[2] = shape::count_rows(sequences_, rank, size_);
  return tensor::empty(sizes, like.type().of(dtype));
}

void Ring::travel(tensor::Tensor kv_21tkH, const Visit& visit) const {
  for (int step = 0; step < size_; ++step) {
    tensor::Tensor next;
    comm::Transfer coming, going;
    if (step + 1 < size_) {
      next = buffer_of(visitor(step + 1), kv_21tkH, kv_21tkH.dtype());
      coming = receive(next, keys_tag);
      going = send(kv_21tkH, keys_tag);
    }
    visit(step, kv_21tkH);
    wait({&coming, &going});
    kv_21tkH = next;
  }
}

}  // namespace troika::sharding
