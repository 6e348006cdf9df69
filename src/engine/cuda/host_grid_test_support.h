// Runs a kernel (block.h) on the host, to test its arithmetic and its barriers without a GPU. Every thread of a block
// is a fiber; a warp runs until its threads wait at a barrier, and the order of warps, and of threads between two
// exchanges, is drawn. Blocks run one after the other in a drawn order, and shared memory is filled with NaN before
// each. What it does not show: races between blocks, and what happens between two barriers when threads really run at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cuda/block.h"

namespace troika::cuda {

// A fault planted in a kernel: tests must see a difference.
struct Fault {
  int skipped_barrier = -1;  // the barrier that a thread meets after so many others does not hold it
  int thread_offset = 0;     // thread() is off by so many
};

class FiberBlock;

class HostBlock {
 public:
  explicit HostBlock(FiberBlock& fibers, int thread) : fibers_(&fibers), thread_(thread) {}
  std::int64_t index() const;
  int thread() const;
  void barrier() const;
  template <class T>
  T from_lane_xor(T x, int mask) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    exchange(&x, sizeof x, mask);
    return x;
  }
  void raise(std::uint32_t* to, std::uint32_t x) const { *to = *to < x ? x : *to; }
  void add(std::uint32_t* to, std::uint32_t x) const { *to += x; }

 private:
  void exchange(void* x, std::size_t bytes, int mask) const;
  FiberBlock* fibers_;
  int thread_;
};

// All blocks of a grid.
std::vector<std::int64_t> all_blocks(std::int64_t count);

// BugError when threads end while others wait, or leave a warp's exchange. Returns how many barriers a thread met at
// most.
int run_blocks(std::vector<std::int64_t> blocks, int threads, std::size_t shared_bytes, std::uint64_t seed, const Fault& fault,
               const std::function<void(const HostBlock& block, void* shared)>& body);

template <class Kernel>
int run_on_host(const Kernel& kernel, std::uint64_t seed, const Fault& fault, const std::vector<std::int64_t>& blocks) {
  using Shared = typename Kernel::Shared;
  static_assert(Kernel::threads % warp == 0 && Kernel::threads <= max_threads);
  return run_blocks(blocks, Kernel::threads, sizeof(Shared), seed, fault,
                    [&](const HostBlock& block, void* shared) { kernel(block, *static_cast<Shared*>(shared)); });
}
template <class Kernel>
int run_on_host(const Kernel& kernel, std::uint64_t seed, const Fault& fault = {}) {
  return run_on_host(kernel, seed, fault, all_blocks(kernel.blocks()));
}

}  // namespace troika::cuda
