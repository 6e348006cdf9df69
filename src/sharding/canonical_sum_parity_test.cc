#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "comm/self_channel.h"
#include "comm/threads_channel.h"
#include "shape/sum_bytes.h"
#include "sharding/canonical_sum.h"

namespace troika::sharding {
namespace {

const c10::Device cpu(c10::kCPU);
const CanonicalSum::OnWait unheard = [](double, double) {};

// Whose values make the order of addition visible.
at::Tensor leaf_of(std::int64_t leaf, std::int64_t elements) {
  at::Tensor values = at::empty({elements}, at::kFloat);
  base::Philox(7, "leaf").fill_normal(static_cast<std::uint64_t>(leaf * elements), elements, values.data_ptr<float>());
  return values.mul_(std::pow(10.0, static_cast<double>(leaf % 5) - 2));
}

std::int64_t leaf_number(const shape::SumShape& shape, std::int64_t microbatch) {
  return shape.sharing == shape::Sharing::at_end ? shape.place.cp_rank * shape.microbatches + microbatch
                                                 : microbatch * shape.place.cp + shape.place.cp_rank;
}

std::vector<std::int64_t> share_of(const shape::SumShape& shape) {
  const std::int64_t count = shape.microbatches / shape.place.dp;
  std::vector<std::int64_t> microbatches;
  for (std::int64_t i = 0; i < count; ++i) {
    microbatches.push_back(shape.sharing == shape::Sharing::at_end ? shape.place.dp_rank * count + i
                                                                   : i * shape.place.dp + shape.place.dp_rank);
  }
  return microbatches;
}

struct OfRank {
  at::Tensor range, whole;  // this rank's range of the total; the total, where it is gathered
};

// Makes the calls of a step on the sum and on its numbers, and compares what both say is held after each.
class Counted {
 public:
  Counted(const shape::SumShape& shape, const shape::ShardPlan& plan, comm::Channel& replicas)
      : shape_(shape),
        plan_(plan),
        replicas_(replicas),
        sum_(plan, shape, cpu, ledger_),
        bytes_(plan.elements(), plan.elements_of(shape.place.index()).count, shape) {}

  OfRank step() {
    for (const std::int64_t m : share_of(shape_)) {
      sum_.leaf().copy_(leaf_of(leaf_number(shape_, m), plan_.elements()));
      sum_.push(m);
      bytes_.push();
      compare();
      if (shape_.sharing == shape::Sharing::every_round) reduce();
    }
    if (shape_.sharing == shape::Sharing::at_end) reduce();
    OfRank result{sum_.total().clone(), {}};
    if (shape_.sharing == shape::Sharing::at_end && replicas_.size() > 1) {
      sum_.start_gather(replicas_, 4);
      result.whole = sum_.finish_gather(unheard).clone();
    }
    sum_.reset();
    bytes_.reset();
    compare();
    return result;
  }

 private:
  void reduce() {
    sum_.start_reduce(replicas_, 3);
    bytes_.start_reduce();
    compare();
    sum_.finish_reduce(unheard);
    bytes_.finish_reduce();
    compare();
  }
  void compare() { EXPECT_EQ(ledger_.live(tensor::MemoryUse::gradients), bytes_.held()); }

  const shape::SumShape shape_;
  const shape::ShardPlan plan_;
  comm::Channel& replicas_;
  tensor::Ledger ledger_;
  CanonicalSum sum_;
  shape::SumBytes bytes_;
};

// Two steps, so that what one leaves behind would show in the other.
OfRank sum_of_rank(const shape::SumShape& shape, const shape::ShardPlan& plan, comm::Channel& replicas) {
  Counted counted(shape, plan, replicas);
  counted.step();
  return counted.step();
}

// By replica index.
std::vector<OfRank> sum_on_threads(std::int64_t microbatches, int dp, int cp, shape::Sharing sharing,
                                   const std::vector<std::int64_t>& parts) {
  const int count = dp * cp;
  auto channels = comm::make_thread_channels(count, "replicas", 20.0);
  std::vector<OfRank> results(static_cast<std::size_t>(count));
  std::vector<std::thread> ranks;
  for (int r = 0; r < count; ++r) {
    ranks.emplace_back([&, r] {
      const shape::SumShape shape{microbatches, {dp, cp, r % dp, r / dp}, sharing};
      results[static_cast<std::size_t>(r)] =
          sum_of_rank(shape, shape::ShardPlan(parts, count), *channels[static_cast<std::size_t>(r)]);
    });
  }
  for (auto& rank : ranks) rank.join();
  return results;
}

at::Tensor sum_alone(std::int64_t leaves, const std::vector<std::int64_t>& parts) {
  auto self = comm::make_self_channel("replicas");
  return sum_of_rank({leaves, {}, shape::Sharing::at_end}, shape::ShardPlan(parts, 1), *self).range;
}

at::Tensor joined(const std::vector<OfRank>& ranks) {
  std::vector<at::Tensor> ranges;
  for (const OfRank& rank : ranks) ranges.push_back(rank.range);
  return at::cat(ranges);
}

const std::vector<std::vector<std::int64_t>> buffers{{1}, {4095, 64}, {64, 4097, 3}, {20000, 128, 9000}};

TEST(CanonicalSum, HasTheSameBitsForAnyNumberOfRanksAndBothWaysOfSharing) {
  for (const auto& parts : buffers) {
    for (const auto& [leaves, sizes] : std::vector<std::pair<std::int64_t, std::vector<int>>>{
             {12, {2, 3, 4, 6}}, {22, {2, 11}}, {15, {3, 5}}, {7, {7}}, {24, {2, 8}}}) {
      const at::Tensor alone = sum_alone(leaves, parts);
      for (const int dp : sizes) {
        for (const shape::Sharing sharing : {shape::Sharing::at_end, shape::Sharing::every_round}) {
          const auto ranks = sum_on_threads(leaves, dp, 1, sharing, parts);
          EXPECT_TRUE(at::equal(joined(ranks), alone)) << leaves << " leaves over " << dp;
          for (const OfRank& rank : ranks) EXPECT_TRUE(!rank.whole.defined() || at::equal(rank.whole, alone));
        }
      }
    }
  }
}

TEST(CanonicalSum, ContextParallelLeavesAreSummedAlikeForAnyNumberOfDataParallelRanks) {
  const std::vector<std::int64_t> parts{5000, 64};
  for (const shape::Sharing sharing : {shape::Sharing::at_end, shape::Sharing::every_round}) {
    const at::Tensor one = joined(sum_on_threads(6, 1, 2, sharing, parts));
    for (const int dp : {2, 3}) EXPECT_TRUE(at::equal(joined(sum_on_threads(6, dp, 2, sharing, parts)), one));
  }
  EXPECT_TRUE(at::equal(joined(sum_on_threads(6, 1, 2, shape::Sharing::at_end, parts)), sum_alone(12, parts)));
}

TEST(CanonicalSum, LeavesOutOfOrderAreRefused) {
  tensor::Ledger ledger;
  CanonicalSum sum(shape::ShardPlan({10}, 1), {4, {}, shape::Sharing::at_end}, cpu, ledger);
  sum.leaf();
  EXPECT_THROW(sum.push(1), base::BugError);
}

TEST(CanonicalSum, ReducingBeforeTheLastLeafIsRefused) {
  tensor::Ledger ledger;
  CanonicalSum sum(shape::ShardPlan({10}, 1), {4, {}, shape::Sharing::at_end}, cpu, ledger);
  auto self = comm::make_self_channel("replicas");
  EXPECT_THROW(sum.start_reduce(*self, 1), base::BugError);
  EXPECT_THROW(sum.total(), base::BugError);
}

}  // namespace
}  // namespace troika::sharding
