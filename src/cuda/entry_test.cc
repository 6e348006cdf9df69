#include "cuda/entry.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "cuda/every_kernel.h"

// What nvcc calls an entry is what the host's compiler calls this function.
template <class Kernel>
__attribute__((visibility("default"), noinline)) void troika_kernel(const Kernel kernel) {
  asm volatile("" ::"r"(&kernel));
}

namespace troika::cuda {
namespace {

// Calls are collected, not made: kernels of empty arrays name their types.
struct CompareSymbols {
  int* count;
  template <class Kernel>
  void operator()(const Kernel&) const {
    Dl_info info{};
    ASSERT_NE(::dladdr(reinterpret_cast<const void*>(&troika_kernel<Kernel>), &info), 0);
    ASSERT_NE(info.dli_sname, nullptr);
    EXPECT_STREQ(info.dli_sname, entry_of<Kernel>());
    ++*count;
  }
};

TEST(Entry, IsTheSymbolThatTheCompilerGivesTheFunction) {
  int count = 0;
  every_kernel(CompareSymbols{&count});
  EXPECT_GT(count, 30);
}

}  // namespace
}  // namespace troika::cuda
