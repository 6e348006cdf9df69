// Kernels of the embedding; meaning as in kernels/vocabulary.h. The table may be a part of the vocabulary: it has the rows
// [first_row, first_row + v). Activations and the table have the dtype of the call.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"
#include "cuda/walk.h"

namespace troika::cuda {

struct EmbeddingTable {
  Dtype dtype = Dtype::fp32;
  std::int64_t first_row = 0, v = 0, D = 0;
};

// The tokens of a batch by id. sorted[i] is the id of row order[i] of dx, ascending; equal ids in ascending order of rows.
struct TokensById {
  const std::int64_t *sorted = nullptr, *order = nullptr;  // M each
};

template <class T, int n>
struct EmbeddingForward {
  static constexpr int threads = row_pack_threads;
  using Shared = NoShared;

  const std::int64_t* ids;  // M
  const T* weights;         // v x D
  T* x;                     // M x D
  std::int64_t M, first_row, v, D;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return M * RowPack<n>::blocks_of_row(D); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const RowPack<n> at(block, D);
    if (at.i >= D) return;
    const std::int64_t row = ids[at.row] - first_row;
    Pack<T, n> pack;
    if (row >= 0 && row < v) {
      pack = loaded<n>(weights + row * D + at.i);
    } else {
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) pack.set(j, 0);
    }
    store<n>(x + at.row * D + at.i, pack);
  }
};

// Tokens in ascending order of ids, equal ones in their own: each looks for its place, which is how many come before it.
struct SortTokens {
  static constexpr int threads = 256;
  struct Shared {
    std::int64_t ids[threads];
  };

  const std::int64_t* ids;        // M
  std::int64_t *sorted, *order;  // M each
  std::int64_t M;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(M, threads); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const std::int64_t i = block.index() * threads + block.thread(), id = i < M ? ids[i] : 0;
    std::int64_t place = 0;
    for (std::int64_t first = 0; first < M; first += threads) {
      const std::int64_t other = first + block.thread(), count = M - first < threads ? M - first : threads;
      if (first > 0) block.barrier();
      if (other < M) shared.ids[block.thread()] = ids[other];
      block.barrier();
      for (std::int64_t j = 0; j < count; ++j) place += shared.ids[j] < id || (shared.ids[j] == id && first + j < i) ? 1 : 0;
    }
    if (i >= M) return;
    sorted[place] = id;
    order[place] = i;
  }
};

// begins[r] = how many tokens have ids below first_row + r.
struct EmbeddingBegins {
  static constexpr int threads = 256;
  using Shared = NoShared;

  const std::int64_t* sorted;  // M
  std::int64_t* begins;        // v + 1
  std::int64_t M, first_row, v;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(v + 1, threads); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const std::int64_t row = block.index() * threads + block.thread();
    if (row > v) return;
    std::int64_t begin = 0, end = M;  // the answer lies in [begin, end]
    while (begin < end) {
      const std::int64_t middle = (begin + end) / 2;
      if (sorted[middle] < first_row + row) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    begins[row] = begin;
  }
};

template <class T, int n>
struct EmbeddingBackward {
  static constexpr int threads = row_pack_threads;
  using Shared = NoShared;

  const std::int64_t* begins;  // v + 1
  const std::int64_t* order;   // M
  const T* dx;                 // M x D
  float* dtable;               // v x D
  std::int64_t v, D;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return v * RowPack<n>::blocks_of_row(D); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& /*shared*/) const {
    const RowPack<n> at(block, D);
    if (at.i >= D) return;
    const std::int64_t end = begins[at.row + 1];
    float sums[n] = {};
    for (std::int64_t i = begins[at.row]; i < end; ++i) {
      const Pack<T, n> row = loaded<n>(dx + order[i] * D + at.i);
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) sums[j] += row[j];
    }
    store(dtable + at.row * D + at.i, sums);
  }
};

}  // namespace troika::cuda
