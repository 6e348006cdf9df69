#include "gpu/host_kernels_test_support.h"

#include <map>

#include "base/error.h"
#include "cuda/dispatch.h"
#include "cuda/every_kernel.h"
#include "cuda/host_grid_test_support.h"
#include "cuda/stretches.h"
#include "cuda/walk.h"

namespace troika::gpu {
namespace {

// Threads that never meet need no stacks of their own (host_grid_test_support.h).
struct LoneThread {
  std::int64_t block;
  int number;
  std::int64_t index() const { return block; }
  int thread() const { return number; }
};

template <class Kernel>
inline constexpr bool threads_never_meet = false;
template <class Of>
inline constexpr bool threads_never_meet<cuda::EachPair<Of>> = true;
template <class Of, int n>
inline constexpr bool threads_never_meet<cuda::EachElement<Of, n>> = true;
template <class Of, class Value, int n>
inline constexpr bool threads_never_meet<cuda::EachOfStretches<Of, Value, n>> = true;

template <class Kernel>
void run_kernel(const Kernel& kernel, std::uint64_t seed) {
  if constexpr (threads_never_meet<Kernel>) {
    cuda::NoShared none;
    for (std::int64_t block = 0, blocks = kernel.blocks(); block < blocks; ++block)
      for (int thread = 0; thread < Kernel::threads; ++thread) kernel(LoneThread{block, thread}, none);
  } else {
    cuda::run_on_host(kernel, seed);
  }
}

struct HostKernel {
  std::size_t argument_bytes;
  void (*run)(const void* argument, std::uint64_t seed);
};

class Table {
 public:
  Table() { cuda::every_kernel(*this); }
  template <class Kernel>
  void operator()(const Kernel&) const {
    Known<Kernel>::one.touch();
  }
  static std::map<std::string, HostKernel>& kernels() {
    static std::map<std::string, HostKernel> all;
    return all;
  }

 private:
  // Made before main() for every kernel that every_kernel() could run, whichever of them it does run.
  template <class Kernel>
  struct Known {
    Known() {
      kernels()[cuda::entry_of<Kernel>()] = {sizeof(Kernel), [](const void* argument, std::uint64_t seed) {
                                               run_kernel(*static_cast<const Kernel*>(argument), seed);
                                             }};
    }
    void touch() const {}
    static const Known one;
  };
};
template <class Kernel>
const Table::Known<Kernel> Table::Known<Kernel>::one;

const HostKernel& kernel_of(const std::string& entry) {
  [[maybe_unused]] static const Table table;
  const auto found = Table::kernels().find(entry);
  if (found == Table::kernels().end()) throw base::BugError("no kernel has the entry " + entry);
  return found->second;
}

}  // namespace

void run_kernel_on_host(const tensor::KernelCall& call, std::uint64_t seed) {
  kernel_of(call.entry).run(call.argument, seed);
}

std::size_t argument_bytes(const std::string& entry) { return kernel_of(entry).argument_bytes; }

}  // namespace troika::gpu
