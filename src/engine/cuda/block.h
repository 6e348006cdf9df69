// The interface of a kernel to the block of threads that runs it. A kernel is a struct: its members are its arguments,
// and
//
//   static constexpr int threads      of a block: whole warps, at most max_threads
//   struct Shared                     memory of a block, uninitialised; empty where there is none
//   std::int64_t blocks() const       of the grid: from shapes alone, and so do bits
//   template <class Block> TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const
//
// The same source runs in two places: on a GPU through kernels.cu, compiled by nvcc; on the host through
// host_grid_test_support.h, where tests compare it with references. So it uses of the GPU only what a Block offers:
//
//   std::int64_t index() const        of this block in the grid
//   int thread() const                of this thread in the block
//   void barrier() const              all threads of the block; what each wrote to memory all see after it
//   T from_lane_xor(T x, int mask)    the x of this warp's lane with another number; all lanes of the warp call it;
//                                     T of 4 or 8 bytes
//   void raise(std::uint32_t* to, std::uint32_t x) const   *to becomes x where x is more; any number of threads may
//   void add(std::uint32_t* to, std::uint32_t x) const     *to += x, likewise
//
// Every floating-point operation rounds once (nvcc -fmad=false), on both.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define TROIKA_DEVICE __device__ __forceinline__
#define TROIKA_HOST_DEVICE __host__ __device__ __forceinline__
#define TROIKA_UNROLL _Pragma("unroll")  // so that arrays with constant indices are registers
#define TROIKA_UNROLL_8 _Pragma("unroll 8")
#else
#define TROIKA_DEVICE inline
#define TROIKA_HOST_DEVICE inline
#define TROIKA_UNROLL
#define TROIKA_UNROLL_8
#endif

namespace troika::cuda {

inline constexpr int warp = 32, max_threads = 1024;

struct NoShared {};

TROIKA_HOST_DEVICE std::int64_t blocks_for(std::int64_t count, std::int64_t of_block) {
  return (count + of_block - 1) / of_block;
}

struct Add {
  template <class T>
  TROIKA_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};
struct Larger {
  template <class T>
  TROIKA_DEVICE T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// The same on all of so many neighbouring lanes, a power of two: a butterfly, in one order.
template <int lanes, class Block, class T, class Combine>
TROIKA_DEVICE T of_lanes(const Block& block, T x, Combine combine) {
  TROIKA_UNROLL
  for (int mask = lanes / 2; mask > 0; mask /= 2) x = combine(x, block.from_lane_xor(x, mask));
  return x;
}

// One number from every thread of the block to all of them. `room` has one element per warp. Another reduction may use
// it after a barrier only, so two rooms by turns are enough for any number of reductions.
template <int threads, class Block, class T, class Combine>
TROIKA_DEVICE T of_block(const Block& block, T x, Combine combine, T* room) {
  x = of_lanes<warp>(block, x, combine);
  if (block.thread() % warp == 0) room[block.thread() / warp] = x;
  block.barrier();
  x = room[0];
  TROIKA_UNROLL
  for (int i = 1; i < threads / warp; ++i) x = combine(x, room[i]);
  return x;
}

}  // namespace troika::cuda
