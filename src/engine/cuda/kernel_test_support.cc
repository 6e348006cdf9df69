#include "cuda/kernel_test_support.h"

#include "base/error.h"

namespace troika::cuda {
namespace {

bool is_seen(const Operation& operation, std::uint64_t seed, const PlantedFault& planted, const std::string& want) {
  try {
    return operation(TestRun(seed, planted)) != want;
  } catch (const base::BugError&) {
    return true;
  }
}

}  // namespace

void expect_same_bits_in_any_order(const Operation& operation) {
  const std::string want = operation(TestRun(1));
  for (const std::uint64_t seed : {2, 3}) EXPECT_TRUE(operation(TestRun(seed)) == want) << "seed " << seed;
}

void expect_faults_are_seen(const Operation& operation) {
  if (!test_runner().plants_faults()) return;
  const TestRun sound(1);
  const std::string want = operation(sound);
  ASSERT_FALSE(sound.barriers().empty());
  for (int kernel = 0; kernel < static_cast<int>(sound.barriers().size()); ++kernel) {
    EXPECT_TRUE(is_seen(operation, 1, {kernel, Fault{-1, 1}}, want)) << "threads of kernel " << kernel;
    for (int barrier = 0; barrier < sound.barriers()[static_cast<std::size_t>(kernel)]; ++barrier) {
      bool seen = false;
      for (std::uint64_t seed = 1; seed <= 5; ++seed)
        seen = seen || is_seen(operation, seed, {kernel, Fault{barrier, 0}}, want);
      EXPECT_TRUE(seen) << "barrier " << barrier << " of kernel " << kernel;
    }
  }
}

}  // namespace troika::cuda
