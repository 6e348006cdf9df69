#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "comm/self_channel.h"
#include "comm/threads_channel.h"
#include "sharding/canonical_sum.h"

namespace troika::sharding {
namespace {

// A leaf whose values make the order of addition visible.
at::Tensor leaf_of(std::int64_t microbatch, std::int64_t elements) {
  at::Tensor leaf = at::empty({elements}, at::kFloat);
  base::Philox(7, "leaf").fill_normal(static_cast<std::uint64_t>(microbatch * elements), elements,
                                      leaf.data_ptr<float>());
  return leaf.mul_(std::pow(10.0, static_cast<double>(microbatch % 5) - 2));
}

at::Tensor total_of_rank(comm::Channel& dp, std::int64_t leaves, std::int64_t elements) {
  tensor::Ledger ledger;
  CanonicalSum sum(elements, leaves, dp.rank(), dp.size(), c10::Device(c10::kCPU), ledger);
  at::Tensor total;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t share = leaves / dp.size();
    for (std::int64_t m = share * dp.rank(); m < share * (dp.rank() + 1); ++m) {
      sum.leaf().copy_(leaf_of(m, elements));
      sum.push(m);
    }
    total = sum.reduce(dp, [](double, double) {}).clone();
    sum.reset();
  }
  const double most = 2 + std::log2(static_cast<double>(leaves));
  EXPECT_LE(static_cast<double>(ledger.peak(tensor::Use::gradients)), most * static_cast<double>(elements) * 4);
  return total;
}

TEST(CanonicalSum, HasTheSameBitsForAnyNumberOfRanks) {
  for (const std::int64_t elements : {1, 4095, 4097, 20000}) {
    for (const auto& [leaves, sizes] : std::vector<std::pair<std::int64_t, std::vector<int>>>{
             {12, {2, 3, 4, 6, 12}}, {22, {2, 11}}, {15, {3, 5}}, {7, {7}}, {1, {}}, {24, {2, 3, 8}}}) {
      auto self = comm::make_self_channel("dp");
      const at::Tensor alone = total_of_rank(*self, leaves, elements);
      for (const int size : sizes) {
        auto channels = comm::make_thread_channels(size, "dp", 20.0);
        std::vector<at::Tensor> totals(static_cast<std::size_t>(size));
        std::vector<std::thread> ranks;
        for (int r = 0; r < size; ++r) {
          const auto i = static_cast<std::size_t>(r);
          ranks.emplace_back([&, i] { totals[i] = total_of_rank(*channels[i], leaves, elements); });
        }
        for (auto& rank : ranks) rank.join();
        for (const auto& total : totals) EXPECT_TRUE(at::equal(total, alone)) << leaves << " leaves over " << size;
      }
    }
  }
}

TEST(CanonicalSum, LeavesOutOfOrderAreRefused) {
  tensor::Ledger ledger;
  CanonicalSum sum(10, 4, 0, 1, c10::Device(c10::kCPU), ledger);
  sum.leaf();
  EXPECT_THROW(sum.push(1), base::BugError);
}

TEST(CanonicalSum, ReducingBeforeTheLastLeafIsRefused) {
  tensor::Ledger ledger;
  CanonicalSum sum(10, 4, 0, 1, c10::Device(c10::kCPU), ledger);
  auto self = comm::make_self_channel("dp");
  EXPECT_THROW(sum.reduce(*self, [](double, double) {}), base::BugError);
}

}  // namespace
}  // namespace troika::sharding
