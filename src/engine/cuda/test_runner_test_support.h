// Where the kernels of tests run: on the host (host_grid_test_support.h), or on a device that a program of tests chooses
// before its tests begin (gpu/device_runner_test_support.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "cuda/dispatch.h"
#include "cuda/host_grid_test_support.h"

namespace troika::cuda {

// The blocks of a grid of so many that the host runs; a device runs all.
using BlockChoice = std::function<std::vector<std::int64_t>(std::int64_t blocks)>;

// One run of a kernel, which lives as long as the kernel and the choice.
struct TestKernel {
  template <class Kernel>
  TestKernel(const Kernel& kernel, std::uint64_t seed, const Fault& fault, const BlockChoice& choice)
      : entry(entry_of<Kernel>()),
        argument(&kernel),
        argument_bytes(sizeof kernel),
        blocks(kernel.blocks()),
        threads(Kernel::threads),
        on_host([&kernel, seed, fault, &choice] { return run_on_host(kernel, seed, fault, choice(kernel.blocks())); }) {}
  const char* entry;
  const void* argument;
  std::size_t argument_bytes;
  std::int64_t blocks;
  int threads;
  std::function<int()> on_host;
};

inline constexpr std::size_t test_page_bytes = 4096;

class TestRunner {
 public:
  virtual ~TestRunner() = default;
  // A buffer that kernels may be given, wherever they point into it. pages: of those alone (data begins the first) the test writes
  // and reads something; null: of all.
  virtual void watch(void* /*data*/, std::size_t /*bytes*/, const std::set<std::size_t>* /*pages*/) {}
  virtual void forget(void* /*data*/) {}
  // Returns when it is done: how many barriers a thread met at most, 0 where nobody counts.
  virtual int run(const TestKernel& kernel) { return kernel.on_host(); }
  virtual bool plants_faults() const { return true; }
  virtual std::int64_t free_bytes() const { return std::numeric_limits<std::int64_t>::max(); }
};

TestRunner& test_runner();
// For main(), before any buffer is made.
void choose_test_runner(std::unique_ptr<TestRunner> runner);

}  // namespace troika::cuda
