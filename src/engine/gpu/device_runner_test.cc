#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/error.h"
#include "cuda/flat_dispatch.h"
#include "gpu/device_runner_test_support.h"
#include "gpu/nvidia_test_support.h"

namespace troika::gpu {
namespace {

class DeviceRunnerTest : public ::testing::Test {
 protected:
  template <class T>
  std::vector<T> watched(std::size_t count) {
    std::vector<T> made(count);
    std::iota(made.begin(), made.end(), 1);
    runner.watch(made.data(), count * sizeof(T), nullptr);
    return made;
  }
  void add(std::int64_t count, float* sum, const float* other) {
    cuda::dispatch::add_into([&](const auto& kernel) { runner.run(cuda::TestKernel(kernel, 1, {}, cuda::all_blocks)); }, count,
                             sum, other);
  }
  const std::unique_ptr<Nvidia> gpus = stand_in_gpus();
  DeviceRunner runner{tensor::Device(*gpus, 1)};
};

// Offsets, and what a kernel writes beside the part that it is given.
TEST_F(DeviceRunnerTest, MirrorsBuffersWhereverAKernelPointsIntoThem) {
  std::vector<float> sum = watched<float>(40), other = watched<float>(30), want = sum;
  add(11, sum.data() + 3, other.data() + 5);
  for (std::size_t i = 0; i < 11; ++i) want[3 + i] += other[5 + i];
  EXPECT_EQ(sum, want);
}

TEST_F(DeviceRunnerTest, SeesWhatTheTestHasWrittenSince) {
  std::vector<float> sum = watched<float>(8), other = watched<float>(8);
  add(8, sum.data(), other.data());
  std::fill(sum.begin(), sum.end(), 100.0f);
  add(8, sum.data(), other.data());
  EXPECT_EQ(sum[7], 108);
}

// The pages of a buffer that are not named are zeros on the device, and keep their content on the host.
TEST_F(DeviceRunnerTest, CopiesThePagesThatATestNames) {
  const std::size_t count = 3 * cuda::test_page_bytes / sizeof(float), of_page = count / 3;
  const std::set<std::size_t> pages = {2};
  std::vector<float> sum(count, 7), other = watched<float>(count);
  runner.watch(sum.data(), count * sizeof(float), &pages);
  add(static_cast<std::int64_t>(count), sum.data(), other.data());
  EXPECT_EQ(sum[of_page], 7);
  EXPECT_EQ(sum[count - 1], 7 + other[count - 1]);
}

TEST_F(DeviceRunnerTest, AKernelOfNoBufferIsABug) {
  std::vector<float> sum(8), other(8);
  EXPECT_THROW(add(8, sum.data(), other.data()), base::BugError);
}

}  // namespace
}  // namespace troika::gpu
