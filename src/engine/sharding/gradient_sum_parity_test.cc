#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "comm/channel.h"
#include "comm/threads_channel_test_support.h"
#include "kernels/flat.h"
#include "shape/gradient_bytes.h"
#include "sharding/gradient_sum.h"
#include "tensor/libtorch_test_support.h"

namespace troika::sharding {
namespace {

const tensor::Device cpu;
const OnWait unheard = [](double, double) {};

// Whose values would make the order of addition visible.
at::Tensor leaf_of(std::int64_t leaf, std::int64_t elements) {
  at::Tensor values = at::empty({elements}, at::kFloat);
  base::Philox(7, "leaf").fill_normal(static_cast<std::uint64_t>(leaf * elements), elements, values.data_ptr<float>());
  return values.mul_(std::pow(10.0, static_cast<double>(leaf % 5) - 3));
}

template <class Element>
std::vector<Element> elements_of(const at::Tensor& x) {
  return {x.data_ptr<Element>(), x.data_ptr<Element>() + x.numel()};
}
std::vector<kernels::MagnitudeBits> largest(const GradientSum& sum) {
  const auto bits = elements_of<std::int32_t>(sum.largest());
  return {bits.begin(), bits.end()};
}

// The rows of a leaf's last parameter that are not zero.
struct NamedRows {
  std::int64_t D = 1;
  at::Tensor row_r;
};
NamedRows named_rows(std::int64_t leaf, std::int64_t elements) {
  const std::int64_t D = elements % 16 == 0 ? 16 : elements % 10 == 0 ? 10 : 1;
  return {D, at::arange(leaf % 3 % (elements / D), elements / D, 2, at::kLong)};
}

struct OfRank {
  at::Tensor range, whole;  // this rank's range of the total; the total, where it is gathered
  std::vector<double> squares;
};

// A case that all replicas run together.
struct Case {
  std::vector<std::int64_t> parts;
  std::vector<std::int64_t> shares;
  int cp = 1, uses = 1;
  shape::Reduction reduction = shape::Reduction::at_end;
  shape::Result result = shape::Result::range;
  shape::Travel travel = shape::Travel::packed;
  shape::Receives receives = shape::Receives::together;
  shape::Addition addition = shape::Addition::integers;
  int exponent = 26;  // with it packed sums fit into the first part of their message, with 20 into two

  int replicas() const { return static_cast<int>(shares.size()) * cp; }
  shape::SumShape shape_of(int replica) const {
    shape::SumShape shape;
    const int dp = static_cast<int>(shares.size());
    shape.place = {dp, cp, replica % dp, replica / dp};
    shape.shares = shares;
    shape.uses = shape.uses_here = uses;
    shape.reduction = reduction;
    shape.result = result;
    shape.travel = travel;
    shape.receives = receives;
    shape.addition = addition;
    return shape;
  }
  // The leaves of all replicas before, in any order that gives each its own.
  std::int64_t first_leaf(int replica) const {
    std::int64_t first = 0;
    for (int r = 0; r < replica; ++r) first += shape_of(r).own_leaves();
    return first;
  }
};

// Makes the calls of a step on the sum and on its numbers, and compares what both say is held after each.
class Counted {
 public:
  Counted(const Case& of, int replica, comm::Channel& replicas)
      : shape_(of.shape_of(replica)),
        plan_(of.parts, of.replicas()),
        first_(of.first_leaf(replica)),
        replicas_(replicas),
        exponent_(of.exponent),
        sum_(plan_, shape_, cpu, ledger_),
        largest_part_(*std::max_element(of.parts.begin(), of.parts.end())),
        bytes_(plan_, shape_, largest_part_) {}

  OfRank step() {
    using Bytes = shape::GradientBytes;
    const bool each_leaf = shape_.reduction == shape::Reduction::each_leaf;
    sum_.begin_step(std::vector<int>(plan_.parts(), exponent_));
    for (std::int64_t leaf = 0; leaf < shape_.own_leaves(); ++leaf) {
      const at::Tensor values = leaf_of(first_ + leaf, plan_.elements());
      for (std::size_t part = 0; part < plan_.parts(); ++part) write(first_ + leaf, part, values);
      count({&Bytes::open, &Bytes::make_sum, &Bytes::close});
      sum_.push();
      if (each_leaf) reduce();
    }
    if (!each_leaf) reduce();
    OfRank result{{}, {}, elements_of<double>(sum_.squares())};
    if (shape_.result == shape::Result::whole && replicas_.size() > 1) {
      sum_.start_gather(replicas_, 4);
      count({&Bytes::make_whole, &Bytes::start_gather});
      result.whole = sum_.finish_gather(unheard).clone();
      result.range = result.whole.narrow(0, sum_.mine().begin, sum_.mine().count);
      EXPECT_EQ(elements_of<double>(sum_.squares()), result.squares);
    } else {
      result.range = sum_.total().clone();
      count({&Bytes::make_total, &Bytes::total});
    }
    sum_.reset();
    count({&Bytes::reset});
    return result;
  }

 private:
  // The largest parameter as one piece, others as two, the last one by rows.
  void write(std::int64_t leaf, std::size_t part, const at::Tensor& values) {
    const shape::Range range = plan_.part(part);
    const auto write_piece = [&](std::int64_t begin, std::int64_t count) {
      tensor::theirs(sum_.leaf().open({begin, count})).copy_(values.narrow(0, begin, count));
      sum_.leaf().close();
    };
    const std::int64_t half = range.count < largest_part_ ? range.count / 2 : 0;
    if (part > 0 && part + 1 == plan_.parts() && range.count < largest_part_) {
      const NamedRows rows = named_rows(leaf, range.count);
      const at::Tensor matrix = values.narrow(0, range.begin, range.count).view({-1, rows.D});
      sum_.leaf().write_rows(range, rows.row_r, matrix.index_select(0, rows.row_r));
    } else {
      if (half > 0) write_piece(range.begin, half);
      write_piece(range.begin + half, range.count - half);
    }
  }
  void reduce() {
    sum_.start_reduce(replicas_, 3);
    count({&shape::GradientBytes::pack, &shape::GradientBytes::start_reduce});
    sum_.finish_reduce(unheard);
    count({&shape::GradientBytes::add_up, &shape::GradientBytes::make_range, &shape::GradientBytes::finish_reduce});
  }
  void count(const std::vector<void (shape::GradientBytes::*)()>& calls) {
    for (const auto call : calls) {
      (bytes_.*call)();
      most_ = std::max(most_, bytes_.held());
    }
    if (exponent_ < 20) return;  // third parts are not in the numbers
    EXPECT_EQ(ledger_.live(tensor::MemoryUse::gradients), bytes_.held());
    EXPECT_EQ(ledger_.peak(), most_);
  }

  const shape::SumShape shape_;
  const shape::ShardPlan plan_;
  const std::int64_t first_;
  comm::Channel& replicas_;
  const int exponent_;
  tensor::Ledger ledger_;
  GradientSum sum_;
  const std::int64_t largest_part_;
  shape::GradientBytes bytes_;
  std::int64_t most_ = 0;
};

// Two steps, so that what one leaves behind would show in the other.
OfRank sum_of_rank(const Case& of, int replica, comm::Channel& replicas) {
  Counted counted(of, replica, replicas);
  counted.step();
  return counted.step();
}

// By replica index.
std::vector<OfRank> sum_on_threads(const Case& of) {
  auto channels = comm::make_thread_channels(of.replicas(), "replicas", 20.0);
  std::vector<OfRank> results(static_cast<std::size_t>(of.replicas()));
  std::vector<std::thread> ranks;
  for (int r = 0; r < of.replicas(); ++r) {
    ranks.emplace_back(
        [&, r] { results[static_cast<std::size_t>(r)] = sum_of_rank(of, r, *channels[static_cast<std::size_t>(r)]); });
  }
  for (auto& rank : ranks) rank.join();
  return results;
}

OfRank sum_alone(std::int64_t leaves, const std::vector<std::int64_t>& parts, int exponent) {
  auto self = comm::make_self_channel("replicas");
  Case alone{parts, {leaves}};
  alone.exponent = exponent;
  return sum_of_rank(alone, 0, *self);
}

void expect_the_sum_of_one(const Case& of, std::int64_t leaves) {
  SCOPED_TRACE(::testing::Message() << leaves << " leaves over " << of.replicas() << " replicas");
  const OfRank alone = sum_alone(leaves, of.parts, of.exponent);
  std::vector<at::Tensor> ranges;
  std::vector<double> squares;
  for (const OfRank& rank : sum_on_threads(of)) {
    ranges.push_back(rank.range);
    squares.insert(squares.end(), rank.squares.begin(), rank.squares.end());
    EXPECT_TRUE(!rank.whole.defined() || at::equal(rank.whole, alone.range));
  }
  EXPECT_TRUE(at::equal(at::cat(ranges), alone.range));
  EXPECT_EQ(squares, alone.squares);
}

// Checks every ZeRO stage.
void expect_the_sum_of_one_however_it_ends(Case of, std::int64_t leaves) {
  expect_the_sum_of_one(of, leaves);
  of.result = shape::Result::whole;
  expect_the_sum_of_one(of, leaves);
  of.result = shape::Result::range;
  of.reduction = shape::Reduction::each_leaf;
  expect_the_sum_of_one(of, leaves);
  of.receives = shape::Receives::in_turn;
  expect_the_sum_of_one(of, leaves);
}

const std::vector<std::vector<std::int64_t>> buffers{{1}, {4095, 64}, {64, 4097, 3}, {20000, 128, 9000}};

std::vector<std::int64_t> equal_shares(std::int64_t leaves, int dp) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(dp), leaves / dp);
}

TEST(GradientSum, HasTheSameBitsForAnyNumberOfReplicasAndBothWaysOfReducing) {
  for (const auto& parts : buffers) {
    for (const auto& [leaves, sizes] : std::vector<std::pair<std::int64_t, std::vector<int>>>{
             {12, {2, 3, 4, 6, 12}}, {22, {2, 11}}, {15, {3, 5}}, {7, {7}}, {24, {2, 8}}, {2, {2}}}) {
      for (const int dp : sizes) expect_the_sum_of_one_however_it_ends({parts, equal_shares(leaves, dp)}, leaves);
    }
  }
}

TEST(GradientSum, WhatIsAddedInFp32IsAddedWhereItIsMade) {
  shape::SumShape shape;
  shape.shares = {3};
  for (const auto addition : {shape::Addition::floats, shape::Addition::integers}) {
    shape.addition = addition;
    const bool floats = addition == shape::Addition::floats;
    tensor::Ledger ledger;
    GradientSum sum(shape::ShardPlan({40, 24}, 1), shape, cpu, ledger);
    sum.begin_step({20, 20});
    at::Tensor want = at::zeros({64});
    for (std::int64_t leaf = 0; leaf < 3; ++leaf) {
      const at::Tensor values = leaf_of(leaf, 64);
      want.add_(values);
      const auto [elements, way] = sum.leaf().open_sum({0, 40});
      EXPECT_EQ(way, floats && leaf > 0 ? tensor::Sum::added : tensor::Sum::replaced);
      EXPECT_EQ(ledger.live(tensor::MemoryUse::gradients), floats ? 64 * 4 : 40 * 4 + (leaf > 0 ? 64 * 8 : 0));
      if (way == tensor::Sum::added) {
        tensor::theirs(elements).add_(values.narrow(0, 0, 40));
      } else {
        tensor::theirs(elements).copy_(values.narrow(0, 0, 40));
      }
      sum.leaf().close();
      tensor::theirs(sum.leaf().open({40, 24})).copy_(values.narrow(0, 40, 24));
      sum.leaf().close();
      sum.push();
    }
    auto self = comm::make_self_channel("replicas");
    sum.start_reduce(*self, 3);
    sum.finish_reduce(unheard);
    const at::Tensor total = sum.total();
    EXPECT_TRUE(floats ? at::equal(total, want) : at::allclose(total, want, 1e-6, 1e-6));
    EXPECT_THROW(sum.leaf().open_sum({0, 40}), base::BugError);
  }
}

TEST(GradientSum, UnequalSharesHaveTheBitsOfOneRank) {
  for (const auto& parts : buffers) {
    for (const auto& shares :
         std::vector<std::vector<std::int64_t>>{{9, 3}, {5, 2, 5}, {1, 11}, {11, 1}, {1, 1, 10}, {4, 1, 1, 6}})
      for (const auto result : {shape::Result::range, shape::Result::whole})
        expect_the_sum_of_one({parts, shares, 1, 1, shape::Reduction::at_end, result}, 12);
  }
}

TEST(GradientSum, WhatDoesNotFitIntoTheFirstPartOfAMessageFollows) {
  for (const auto& parts : buffers) {
    for (const auto& shares : std::vector<std::vector<std::int64_t>>{{6, 6}, {5, 2, 5}, {3, 3, 3, 3}}) {
      for (const int exponent : {20, 7}) {
        Case of{parts, shares};
        of.exponent = exponent;
        expect_the_sum_of_one(of, 12);
      }
    }
  }
}

TEST(GradientSum, HasTheSameBitsWhereIntegersTravelAsTheyAreOrAreAddedOnTheWay) {
  for (const auto travel : {shape::Travel::plain, shape::Travel::added}) {
    for (const auto& parts : buffers) {
      for (const auto& shares : std::vector<std::vector<std::int64_t>>{{6, 6}, {5, 2, 5}, {1, 11}, {4, 1, 1, 6}}) {
        for (const auto result : {shape::Result::range, shape::Result::whole})
          expect_the_sum_of_one({parts, shares, 1, 1, shape::Reduction::at_end, result, travel}, 12);
      }
      for (const std::int64_t leaves : {4, 12})
        expect_the_sum_of_one(
            {parts, {leaves / 2, leaves / 2}, 1, 1, shape::Reduction::each_leaf, shape::Result::range, travel}, leaves);
    }
  }
}

TEST(GradientSum, InAnyOrderIsNearTheExactSum) {
  constexpr std::int64_t elements = 4095;
  for (const auto& [reduction, result] : {std::pair{shape::Reduction::at_end, shape::Result::range},
                                          {shape::Reduction::at_end, shape::Result::whole},
                                          {shape::Reduction::each_leaf, shape::Result::range}}) {
    Case of{{elements, 64}, {3, 3, 3, 3}};
    of.addition = shape::Addition::any_order;
    of.travel = shape::Travel::added;
    of.reduction = reduction;
    of.result = result;
    at::Tensor exact = at::zeros({elements}, at::kDouble);
    for (std::int64_t leaf = 0; leaf < 12; ++leaf) exact.add_(leaf_of(leaf, elements + 64).narrow(0, 0, elements));
    std::vector<at::Tensor> ranges;
    for (const OfRank& rank : sum_on_threads(of)) ranges.push_back(rank.range);
    EXPECT_TRUE(at::allclose(at::cat(ranges).narrow(0, 0, elements).to(at::kDouble), exact, 1e-5, 1e-5));
  }
}

// A replica rounds its sum in fp32 to the grid once, or each leaf, where each is shared out.
TEST(GradientSum, OfSumsInFp32IsExactWhereItIsAddedOnTheWay) {
  constexpr std::int64_t elements = 4095;  // others are written by rows
  for (const auto reduction : {shape::Reduction::at_end, shape::Reduction::each_leaf}) {
    Case of{{4095, 64}, {3, 3, 3, 3}};
    of.addition = shape::Addition::floats;
    of.travel = shape::Travel::added;
    of.reduction = reduction;
    at::Tensor exact = at::zeros({elements}, at::kDouble);
    for (int replica = 0; replica < 4; ++replica) {
      at::Tensor own = at::zeros({elements}, reduction == shape::Reduction::each_leaf ? at::kDouble : at::kFloat);
      for (std::int64_t leaf = 0; leaf < 3; ++leaf)
        own.add_(leaf_of(of.first_leaf(replica) + leaf, elements + 64).narrow(0, 0, elements));
      exact.add_(own.to(at::kDouble));
    }
    std::vector<at::Tensor> ranges;
    for (const OfRank& rank : sum_on_threads(of)) ranges.push_back(rank.range);
    EXPECT_TRUE(at::allclose(at::cat(ranges).narrow(0, 0, elements).to(at::kDouble), exact, 1e-6, 1e-6));
  }
}

TEST(GradientSum, TheFirstPartOfAMessageHasTheDirectoryAndTheBufferTheFirstPart) {
  for (std::int64_t integers = 1; integers < 5'000'000; integers += 1 + integers / 100) {
    ASSERT_LE(directory_words(integers), shape::message_words(integers)) << integers;
    ASSERT_LE(shape::message_words(integers), shape::packed_words(integers)) << integers;
  }
}

TEST(GradientSum, ContextParallelRanksAndUsesOfATableAddTheirLeavesAlike) {
  const std::vector<std::int64_t> parts{5000, 64};
  expect_the_sum_of_one_however_it_ends({parts, {6}, 2}, 12);
  expect_the_sum_of_one_however_it_ends({parts, {3, 3}, 2}, 12);
  expect_the_sum_of_one_however_it_ends({parts, {3, 3}, 1, 2}, 12);
  expect_the_sum_of_one_however_it_ends({parts, {1, 1, 1}, 2, 2}, 12);
}

// More than a block of the sum in place.
TEST(GradientSum, OneLeafOfEachReplicaIsSummedWhereItLies) {
  for (const auto result : {shape::Result::range, shape::Result::whole}) {
    constexpr std::int64_t block = shape::sum_block(shape::Travel::packed);
    Case of{{3 * block + 4097, 64, 2 * block}, {1, 1, 1}};
    of.result = result;
    expect_the_sum_of_one(of, 3);
  }
}

// Half a step of the grid per leaf, and the last rounding.
TEST(GradientSum, IsAsExactAsTheGrid) {
  const std::int64_t elements = 20000, leaves = 16;
  at::Tensor exact = at::zeros({elements}, at::kDouble), floats = at::zeros({elements}, at::kFloat);
  for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
    exact.add_(leaf_of(leaf, elements).to(at::kDouble));
    floats.add_(leaf_of(leaf, elements));
  }
  const at::Tensor sum = sum_alone(leaves, {elements}, 7).range;
  const double half_steps = static_cast<double>(leaves) * std::ldexp(0.5, -50);  // 61 - 4 - 7
  const at::Tensor rounding = exact.abs() * std::ldexp(1.0, -24);
  EXPECT_TRUE(((sum.to(at::kDouble) - exact).abs() <= rounding + half_steps).all().item<bool>());
  EXPECT_LT((sum.to(at::kDouble) - exact).abs().sum().item<double>(),
            (floats.to(at::kDouble) - exact).abs().sum().item<double>());
}

TEST(GradientSum, TellsTheLargestMagnitudeOfEachPartOverAllLeaves) {
  tensor::Ledger ledger;
  shape::SumShape shape;
  shape.shares = {3};
  GradientSum sum(shape::ShardPlan({10, 20}, 1), shape, cpu, ledger);
  sum.begin_step({7, 7});
  for (const float value : {0.5f, -3.0f, 1.0f}) {
    tensor::theirs(sum.leaf().open({0, 30})).fill_(0.25f).narrow(0, 12, 3).fill_(value);
    sum.leaf().close();
    sum.push();
  }
  EXPECT_EQ(kernels::exponent_above(largest(sum)[0]), -1);
  EXPECT_EQ(kernels::exponent_above(largest(sum)[1]), 2);
  sum.reset();
  sum.begin_step({7, 7});
  EXPECT_EQ(largest(sum), (std::vector<kernels::MagnitudeBits>{0, 0}));
  tensor::theirs(sum.leaf().open({0, 30})).fill_(std::numeric_limits<float>::quiet_NaN());
  sum.leaf().close();
  sum.push();
  EXPECT_GE(largest(sum)[0], kernels::infinity_bits);
}

TEST(GradientSum, FloatsAreAddedInPlaceWhereBitsMayDiffer) {
  tensor::Ledger ledger;
  shape::SumShape shape;
  shape.shares = {5};
  shape.addition = shape::Addition::floats;
  auto self = comm::make_self_channel("replicas");
  GradientSum sum(shape::ShardPlan({100}, 1), shape, cpu, ledger);
  sum.begin_step({-60});
  at::Tensor want = at::zeros({100});
  for (std::int64_t leaf = 0; leaf < 5; ++leaf) {
    tensor::theirs(sum.leaf().open({0, 100})).copy_(leaf_of(leaf, 100));
    sum.leaf().close();
    want = leaf == 0 ? leaf_of(leaf, 100) : want.add_(leaf_of(leaf, 100));
    sum.push();
    EXPECT_EQ(ledger.live(tensor::MemoryUse::gradients), 4 * 100);
  }
  sum.start_reduce(*self, 1);
  sum.finish_reduce(unheard);
  EXPECT_TRUE(at::equal(sum.total(), want));
}

TEST(GradientSum, RowsThatAreNotWrittenAreZeros) {
  tensor::Ledger ledger;
  shape::SumShape shape;
  shape.shares = {3};
  auto self = comm::make_self_channel("replicas");
  GradientSum sum(shape::ShardPlan({12, 8}, 1), shape, cpu, ledger);
  sum.begin_step({7, 7});
  for (std::int64_t leaf = 0; leaf < 3; ++leaf) {
    sum.leaf().write_rows({0, 12}, at::full({1}, leaf, at::kLong), at::full({1, 4}, 1.0f + static_cast<float>(leaf)));
    sum.push();
  }
  sum.start_reduce(*self, 1);
  sum.finish_reduce(unheard);
  const at::Tensor want = at::cat({at::full({4}, 1.0f), at::full({4}, 2.0f), at::full({4}, 3.0f), at::zeros({8})});
  EXPECT_TRUE(at::equal(sum.total(), want));
}

// As a GPU names them, between leaves that name few.
TEST(GradientSum, RowsMayBeAllRows) {
  for (const std::int64_t leaves : {2, 3, 5}) {
    tensor::Ledger ledger;
    shape::SumShape shape;
    shape.shares = {leaves};
    auto self = comm::make_self_channel("replicas");
    GradientSum sum(shape::ShardPlan({12}, 1), shape, cpu, ledger);
    sum.begin_step({7});
    at::Tensor want = at::zeros({3, 4});
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
      const at::Tensor row = leaf % 2 == 1 ? at::arange(3, at::kLong) : at::full({1}, leaf % 3, at::kLong);
      const at::Tensor x = at::full({row.numel(), 4}, 0.5f + static_cast<float>(leaf));
      want.index_add_(0, row, x);
      sum.leaf().write_rows({0, 12}, row, x);
      sum.push();
    }
    sum.start_reduce(*self, 1);
    sum.finish_reduce(unheard);
    EXPECT_TRUE(at::equal(sum.total(), want.flatten())) << leaves;
  }
}

TEST(GradientSum, CallsOutOfOrderAreRefused) {
  tensor::Ledger ledger;
  shape::SumShape shape;
  shape.shares = {2};
  auto self = comm::make_self_channel("replicas");
  GradientSum sum(shape::ShardPlan({10}, 1), shape, cpu, ledger);
  EXPECT_THROW(sum.leaf().open({0, 10}), base::BugError);  // before the step begins
  sum.begin_step({7});
  EXPECT_THROW(sum.push(), base::BugError);
  EXPECT_THROW(sum.start_reduce(*self, 1), base::BugError);
  EXPECT_THROW(sum.total(), base::BugError);
  for (int leaf = 0; leaf < 2; ++leaf) {
    tensor::theirs(sum.leaf().open({0, 10})).zero_();
    EXPECT_THROW(sum.push(), base::BugError);  // before it is closed
    sum.leaf().close();
    sum.push();
  }
  EXPECT_THROW(sum.leaf().open({0, 10}), base::BugError);  // a third
  sum.reset();
  sum.leaf().open({0, 4});
  EXPECT_THROW(sum.leaf().open({0, 4}), base::BugError);  // written twice
  EXPECT_THROW(sum.leaf().open({5, 5}), base::BugError);  // a gap
  sum.leaf().close();
  EXPECT_THROW(sum.leaf().write_rows({0, 10}, at::zeros({0}, at::kLong), at::zeros({0, 5})), base::BugError);
}

}  // namespace
}  // namespace troika::sharding
