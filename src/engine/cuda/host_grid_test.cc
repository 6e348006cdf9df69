#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "cuda/kernel_test_support.h"

namespace troika::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// out[block] = the sum of the threads' numbers, twice reduced.
struct SumTwice {
  static constexpr int threads = 96;
  struct Shared {
    std::int64_t room[2][threads / warp];
  };
  std::int64_t* out;
  std::int64_t count;
  std::int64_t blocks() const { return count; }
  template <class Block>
  void operator()(const Block& block, Shared& shared) const {
    std::int64_t sum = of_block<threads>(block, std::int64_t{block.thread()}, Add(), shared.room[0]);
    sum = of_block<threads>(block, sum + block.index(), Add(), shared.room[1]);
    if (block.thread() == 0) out[block.index()] = sum;
  }
};

TEST(HostGrid, ReducesOverWarpsAndBlocks) {
  std::vector<std::int64_t> out(5, -1);
  EXPECT_EQ(run_on_host(SumTwice{out.data(), 5}, 1), 2);
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 96 * (95 * 96 / 2 + i));
}

struct Diverging {
  static constexpr int threads = 64;
  using Shared = NoShared;
  std::int64_t blocks() const { return 1; }
  template <class Block>
  void operator()(const Block& block, Shared& /*shared*/) const {
    if (block.thread() < 63) block.barrier();
  }
};

struct DivergingWarp {
  static constexpr int threads = 32;
  using Shared = NoShared;
  std::int64_t blocks() const { return 1; }
  template <class Block>
  void operator()(const Block& block, Shared& /*shared*/) const {
    if (block.thread() != 5) of_lanes<warp>(block, 1.0f, Add());
  }
};

TEST(HostGrid, ABarrierOrAnExchangeThatNotAllThreadsReachIsABug) {
  EXPECT_THAT([] { run_on_host(Diverging{}, 1); },
              ThrowsMessage<base::BugError>(HasSubstr("63 of 64 threads of block 0 wait at a barrier")));
  EXPECT_THROW(run_on_host(DivergingWarp{}, 1), base::BugError);
}

struct ReadsShared {
  static constexpr int threads = 32;
  struct Shared {
    float x;
  };
  float* out;
  std::int64_t blocks() const { return 2; }
  template <class Block>
  void operator()(const Block& block, Shared& shared) const {
    if (block.thread() > 0) return;
    out[block.index()] = shared.x;
    shared.x = 1;
  }
};

TEST(HostGrid, SharedMemoryIsNaNInEveryBlock) {
  float out[2] = {};
  run_on_host(ReadsShared{out}, 1);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
}

// The thread that writes last, and the block that runs last.
struct LastOne {
  static constexpr int threads = 64;
  using Shared = NoShared;
  int* thread;
  std::int64_t* last_block;
  std::int64_t blocks() const { return 64; }
  template <class Block>
  void operator()(const Block& block, Shared& /*shared*/) const {
    *thread = block.thread();
    *last_block = block.index();
  }
};

TEST(HostGrid, TheOrderOfThreadsAndBlocksIsDrawn) {
  int thread[2] = {};
  std::int64_t block[2] = {};
  for (int i : {0, 1}) run_on_host(LastOne{thread + i, block + i}, static_cast<std::uint64_t>(i));
  EXPECT_NE(thread[0], thread[1]);
  EXPECT_NE(block[0], block[1]);
}

TEST(HostGrid, PlantedFaultsOfAReduction) {
  std::vector<std::int64_t> out(2);
  expect_faults_are_seen([&](const TestRun& run) {
    out.assign(2, -1);
    run(SumTwice{out.data(), 2});
    return std::string(reinterpret_cast<const char*>(out.data()), 16);
  });
}

TEST(HostGrid, GuardsShowWhatIsWrittenBesideABuffer) {
  Guarded<Bf16> x(5, 3);
  EXPECT_TRUE(x.guards_are_whole());
  x[4] = {0};
  EXPECT_TRUE(x.guards_are_whole());
  x.data()[5] = {0};
  EXPECT_FALSE(x.guards_are_whole());
  x.clear();
  x.data()[-1] = {0};
  EXPECT_FALSE(x.guards_are_whole());
}

}  // namespace
}  // namespace troika::cuda
