#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "sharding/group_test_support.h"
#include "sharding/tensor_group.h"
#include "tensor/libtorch_test_support.h"

namespace troika::sharding {
namespace {

// Rank `rank`'s part of the sum, exactly: added in rank order in fp32, rounded once.
at::Tensor exact_sum(int size, at::IntArrayRef sizes, at::ScalarType dtype) {
  at::Tensor sum = random_normal("x", 0, sizes, dtype).to(at::kFloat);
  for (int r = 1; r < size; ++r) sum = sum + random_normal("x", r, sizes, dtype).to(at::kFloat);
  return sum.to(dtype);
}

TEST(TensorGroup, AloneEverythingIsTheIdentityWithoutCopies) {
  const TensorGroup alone;
  const at::Tensor x = random_normal("x", 0, {5, 3});
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(alone.rows(5).count, 5);
  EXPECT_TRUE(alone.all_gather(x, 5).data() == tensor::Tensor(x).data());
  EXPECT_TRUE(alone.reduce_scatter(x).data() == tensor::Tensor(x).data());
  EXPECT_TRUE(alone.gather(x)[0].data() == tensor::Tensor(x).data());
  alone.sum({x});
  EXPECT_TRUE(at::equal(x, random_normal("x", 0, {5, 3})));
}

TEST(TensorGroup, RowsCutAnyCountWithoutGaps) {
  for (const int size : {2, 3, 5}) {
    for (const std::int64_t M : {0, 1, 2, 7, 12}) {
      std::mutex mutex;
      std::vector<shape::Range> rows(static_cast<std::size_t>(size));
      on_ranks(size, [&](comm::Channel& channel) {
        EXPECT_EQ(TensorGroup(channel, shape::SequenceParallel::off).rows(M).count, M);
        const shape::Range mine = TensorGroup(channel, shape::SequenceParallel::on).rows(M);
        const std::lock_guard<std::mutex> lock(mutex);
        rows[static_cast<std::size_t>(channel.rank())] = mine;
      });
      std::int64_t end = 0;
      for (const shape::Range& range : rows) {
        EXPECT_EQ(range.begin, end);
        end = range.end();
      }
      EXPECT_EQ(end, M);
    }
  }
}

TEST(TensorGroup, CollectAddsInRankOrderAndRoundsOnce) {
  for (const int size : {2, 3, 4}) {
    for (const std::int64_t M : {0, 1, 2, 7, 12}) {
      for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
        const at::Tensor want = exact_sum(size, {M, 5}, dtype);
        on_ranks(size, [&](comm::Channel& channel) {
          const at::Tensor partial = random_normal("x", channel.rank(), {M, 5}, dtype);
          for (const auto split : {shape::SequenceParallel::off, shape::SequenceParallel::on}) {
            const TensorGroup group(channel, split);
            const shape::Range rows = group.rows(M);
            const at::Tensor got = group.reduce_scatter(partial);
            EXPECT_TRUE(at::equal(got, want.narrow(0, rows.begin, rows.count)));
            EXPECT_EQ(got.scalar_type(), dtype);
          }
        });
      }
    }
  }
}

TEST(TensorGroup, SpreadBringsEveryRankAllRows) {
  for (const int size : {2, 3, 4}) {
    for (const std::int64_t M : {0, 1, 2, 7, 12}) {
      on_ranks(size, [&](comm::Channel& channel) {
        const at::Tensor whole = random_normal("whole", 0, {M, 5}, at::kHalf);
        const TensorGroup group(channel, shape::SequenceParallel::on);
        const shape::Range rows = group.rows(M);
        EXPECT_TRUE(at::equal(group.all_gather(whole.narrow(0, rows.begin, rows.count), M), whole));
        const TensorGroup off(channel, shape::SequenceParallel::off);
        EXPECT_TRUE(off.all_gather(whole, M).data() == tensor::Tensor(whole).data());
      });
    }
  }
}

// <all_gather(x), y> summed over the ranks equals <x, reduce_scatter(y)> summed over the ranks: each is the other's gradient.
TEST(TensorGroup, SpreadAndCollectAreEachOthersGradient) {
  const std::int64_t M = 7;
  std::mutex mutex;
  double left = 0, right = 0;
  on_ranks(3, [&](comm::Channel& channel) {
    const TensorGroup group(channel, shape::SequenceParallel::on);
    const at::Tensor x_mD = random_normal("x", channel.rank(), {group.rows(M).count, 5});
    const at::Tensor y_MD = random_normal("y", channel.rank(), {M, 5});
    const double gathered = (group.all_gather(x_mD, M) * y_MD).sum(at::kDouble).item<double>();
    const double scattered = (x_mD * group.reduce_scatter(y_MD)).sum(at::kDouble).item<double>();
    const std::lock_guard<std::mutex> lock(mutex);
    left += gathered;
    right += scattered;
  });
  EXPECT_NEAR(left, right, 1e-5);
}

TEST(TensorGroup, GatherBringsEveryRanksTensorInRankOrder) {
  on_ranks(3, [&](comm::Channel& channel) {
    const auto all =
        TensorGroup(channel, shape::SequenceParallel::off).gather(random_normal("x", channel.rank(), {2, 3}));
    ASSERT_EQ(all.size(), 3U);
    for (int r = 0; r < 3; ++r) EXPECT_TRUE(at::equal(all[static_cast<std::size_t>(r)], random_normal("x", r, {2, 3})));
  });
}

TEST(TensorGroup, SumGivesAllRanksTheSameBits) {
  for (const int size : {2, 3, 4}) {
    const at::Tensor want_a = exact_sum(size, {7}, at::kFloat), want_b = exact_sum(size, {3, 4}, at::kFloat);
    on_ranks(size, [&](comm::Channel& channel) {
      const at::Tensor a = random_normal("x", channel.rank(), {7}), b = random_normal("x", channel.rank(), {3, 4});
      TensorGroup(channel, shape::SequenceParallel::off).sum({a, b});
      EXPECT_TRUE(at::equal(a, want_a));
      EXPECT_TRUE(at::equal(b, want_b));
    });
  }
}

TEST(TensorGroup, SharedSlicesAreSummedOverTheirHoldersOnly) {
  // Slices by holders: {0, 1}, {1, 2, 3}, {0, 1, 2, 3}, and one that rank 2 alone holds.
  const std::vector<std::pair<int, int>> holders{{0, 2}, {1, 4}, {0, 4}, {2, 3}};
  on_ranks(4, [&](comm::Channel& channel) {
    const int me = channel.rank();
    const auto value = [](std::size_t slice, int rank) {
      return random_normal("slice " + std::to_string(slice), rank, {3, static_cast<std::int64_t>(slice) + 1});
    };
    std::vector<SharedSlice> slices;
    std::vector<at::Tensor> want;
    for (std::size_t s = 0; s < holders.size(); ++s) {
      const auto [first, end] = holders[s];
      if (me < first || me >= end) continue;
      slices.push_back({value(s, me), first, end});
      at::Tensor sum = value(s, first);
      for (int r = first + 1; r < end; ++r) sum = sum + value(s, r);
      want.push_back(sum);
    }
    TensorGroup(channel, shape::SequenceParallel::on).sum_shared(slices);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(at::equal(slices[i].view, want[i])) << me << " " << i;
  });
}

TEST(TensorGroup, TellsWhenItWaited) {
  on_ranks(2, [&](comm::Channel& channel) {
    int waits = 0;
    TensorGroup group(channel, shape::SequenceParallel::off);
    group.set_on_wait([&](double begin_seconds, double end_seconds) {
      EXPECT_LE(begin_seconds, end_seconds);
      ++waits;
    });
    group.reduce_scatter(random_normal("x", channel.rank(), {4, 4}));
    EXPECT_EQ(waits, 2);
  });
}

}  // namespace
}  // namespace troika::sharding
