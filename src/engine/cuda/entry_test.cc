#include "cuda/dispatch.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

#include "cuda/every_kernel.h"

// nvcc gives an entry the name that the host's compiler gives this function.
template <class Kernel>
__attribute__((visibility("default"), noinline)) void troika_kernel(const Kernel kernel) {
  asm volatile("" ::"r"(&kernel));
}

namespace troika::cuda {
namespace {

// Functions of all kernels that every_kernel() may run, whichever of them it runs.
class Functions {
 public:
  struct Function {
    const void* address;
    const char* entry;
  };
  static std::vector<Function>& all() {
    static std::vector<Function> functions;
    return functions;
  }
  template <class Kernel>
  void operator()(const Kernel&) const {
    Known<Kernel>::one.touch();
  }

 private:
  template <class Kernel>
  struct Known {
    Known() { all().push_back({reinterpret_cast<const void*>(&troika_kernel<Kernel>), entry_of<Kernel>()}); }
    void touch() const {}
    static const Known one;
  };
};
template <class Kernel>
const Functions::Known<Kernel> Functions::Known<Kernel>::one;

TEST(Entry, IsTheSymbolThatTheCompilerGivesTheFunction) {
  every_kernel(Functions());
  EXPECT_GT(Functions::all().size(), 300u);
  for (const auto& function : Functions::all()) {
    Dl_info info{};
    ASSERT_NE(::dladdr(function.address, &info), 0) << function.entry;
    ASSERT_NE(info.dli_sname, nullptr) << function.entry;
    EXPECT_STREQ(info.dli_sname, function.entry);
  }
}

}  // namespace
}  // namespace troika::cuda
