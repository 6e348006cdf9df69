#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "gpu/nvidia_test_support.h"
#include "sharding/context_group.h"
#include "sharding/group_test_support.h"
#include "sharding/ring.h"
#include "tensor/libtorch_test_support.h"

namespace troika::sharding {
namespace {

struct Shape {
  std::vector<std::int64_t> lengths;
  std::int64_t n = 4, k = 2, H = 6, window = 0;

  Sequences sequences() const {
    Sequences all;
    for (const std::int64_t length : lengths) all.push_back({length, 0, 0});
    return all;
  }
  std::int64_t rows() const { return shape::count_rows(sequences(), 0, 1); }
};

LocalAttention whole_input(const Shape& s, at::ScalarType dtype) {
  LocalAttention input;
  input.q_1tnH = random_normal("q", 0, {1, s.rows(), s.n, s.H}, dtype);
  input.k_1tkH = random_normal("k", 0, {1, s.rows(), s.k, s.H}, dtype);
  // A strided view, as the values of a block are.
  input.v_1tkH = random_normal("v", 0, {1, s.rows(), s.k + 3, s.H}, dtype).narrow(2, 2, s.k);
  for (std::int64_t head = 0; head < s.n; ++head) input.kv_of_head.push_back(head * s.k / s.n);
  input.rule = {0.2, s.window};
  return input;
}

at::Tensor cut(const at::Tensor& x_1tnH, const at::Tensor& rows) { return x_1tnH.index_select(1, rows); }

LocalAttention cut(const LocalAttention& whole, const at::Tensor& rows) {
  return {cut(whole.q_1tnH, rows), cut(whole.k_1tkH, rows), cut(whole.v_1tkH, rows), whole.kv_of_head, whole.rule};
}

using OnRanks = std::function<void(int size, const std::function<void(comm::Channel&)>& body)>;

void expect_parity(const Shape& s, int size, at::ScalarType dtype, double bound, const OnRanks& on = on_ranks) {
  SCOPED_TRACE(fmt::format("{} over {} ranks", fmt::join(s.lengths, " "), size));
  const ContextGroup alone;
  const LocalAttention whole = whole_input(s, dtype);
  const at::Tensor dout = random_normal("dout", 0, tensor::theirs(whole.q_1tnH.sizes()), dtype);
  const Sequences sequences = s.sequences();
  const auto want = alone.attend(whole, sequences);
  const auto want_gradients = alone.attend_backward(dout, whole, want, sequences);
  on(size, [&](comm::Channel& channel) {
    const ContextGroup group(channel);
    const at::Tensor positions = at::tensor(group.own_rows(sequences), at::kLong);
    const LocalAttention local = cut(whole, positions);
    const auto got = group.attend(local, sequences);
    EXPECT_LE(relative_error(got.out_BTnH, cut(want.out_BTnH, positions)), bound);
    EXPECT_LE(relative_error(got.lse_BnT, tensor::theirs(want.lse_BnT).index_select(2, positions)), bound);
    EXPECT_EQ(tensor::theirs(got.out_BTnH).scalar_type(), dtype);
    const auto gradients = group.attend_backward(cut(dout, positions), local, got, sequences);
    // Relative to the largest of the whole sequence: a rank's own may be all but zero.
    const auto near = [&](const at::Tensor& mine, const at::Tensor& all) {
      EXPECT_EQ(mine.scalar_type(), dtype);
      const at::Tensor difference = mine.to(at::kDouble) - cut(all, positions).to(at::kDouble);
      const double largest = std::max(all.abs().max().item().toDouble(), 1e-3);
      EXPECT_TRUE((difference.abs() <= bound * largest).all().item<bool>());
    };
    near(gradients.dq_BTnH, want_gradients.dq_BTnH);
    near(gradients.dk_BSkH, want_gradients.dk_BSkH);
    near(gradients.dv_BSkH, want_gradients.dv_BSkH);
  });
}

TEST(ContextGroup, RowsOfAllRanksAreEveryRowOnceAndAscend) {
  for (const int size : {1, 2, 3, 4, 5}) {
    for (std::int64_t T = 1; T < 40; ++T) {
      const Sequences sequences{{T, 0, 0}, {40 - T, 1, 0}};
      std::vector<std::vector<std::int64_t>> all(static_cast<std::size_t>(size));
      on_ranks(size, [&](comm::Channel& channel) {
        all[static_cast<std::size_t>(channel.rank())] = ContextGroup(channel).own_rows(sequences);
      });
      std::vector<std::int64_t> together;
      for (const auto& rows : all) {
        EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
        together.insert(together.end(), rows.begin(), rows.end());
      }
      std::sort(together.begin(), together.end());
      ASSERT_EQ(together.size(), 40u);
      for (std::int64_t p = 0; p < 40; ++p) EXPECT_EQ(together[static_cast<std::size_t>(p)], p);
    }
  }
}

TEST(ContextGroup, AloneIsPlainAttention) {
  const Shape s{{8}};
  const LocalAttention whole = whole_input(s, at::kFloat);
  kernels::AttentionInput input;
  input.q_BTnH = whole.q_1tnH;
  input.k_BSkH = whole.k_1tkH;
  input.v_BSkH = whole.v_1tkH;
  input.kv_of_head = whole.kv_of_head;
  input.rule = whole.rule;
  const auto want = kernels::attention_forward(input);
  const auto got = ContextGroup().attend(whole, s.sequences());
  EXPECT_TRUE(at::equal(got.out_BTnH, want.out_BTnH));
  EXPECT_TRUE(at::equal(got.lse_BnT, want.lse_BnT));
}

TEST(ContextGroup, SplitEqualsWholeForEvenAndOddLengths) {
  for (const int size : {2, 3, 4, 5}) {
    for (const std::int64_t T : {8, 16, 24, 13, 17, 40}) expect_parity({{T, T}, 4, 2, 6}, size, at::kFloat, 1e-5);
  }
}

TEST(ContextGroup, SplitEqualsWholeWithFewerPositionsThanChunks) {
  for (const int size : {2, 3, 4}) {
    for (const std::int64_t T : {1, 2, 3, 5, 7}) expect_parity({{T}, 3, 1, 5}, size, at::kFloat, 1e-5);
  }
}

TEST(ContextGroup, SplitEqualsWholeForSequencesOfAnyLength) {
  for (const int size : {2, 3, 4}) {
    expect_parity({{1, 13, 2, 24, 3, 5, 1}, 4, 2, 6}, size, at::kFloat, 1e-5);
    expect_parity({{1, 1, 1}, 4, 2, 6}, size, at::kFloat, 1e-5);
    expect_parity({{100, 7}, 4, 2, 6}, size, at::kFloat, 1e-5);
  }
}

TEST(ContextGroup, SplitEqualsWholeInWindowsThatCrossRanks) {
  for (const int size : {2, 3, 4}) {
    for (const std::int64_t window : {1, 2, 5, 9, 23, 100}) {
      expect_parity({{40}, 4, 2, 6, window}, size, at::kFloat, 1e-5);
      expect_parity({{1, 13, 2, 24, 3, 5, 1}, 4, 2, 6, window}, size, at::kFloat, 1e-5);
    }
  }
}

TEST(ContextGroup, SplitEqualsWholeOnDevicesThatAreLateWhoseChannelsLookAtNoTag) {
  std::uint64_t seed = 0;
  const OnRanks late = [&](int size, const auto& body) { on_late_devices(size, ++seed, body); };
  for (const int size : {2, 3, 4, 5}) {
    for (const std::int64_t T : {3, 17, 40}) {
      for (const auto dtype : {at::kFloat, at::kBFloat16})
        expect_parity({{T, T == 17 ? 5 : T}, 4, 2, 6}, size, dtype, dtype == at::kFloat ? 1e-5 : 4 * 0x1p-8, late);
    }
  }
}

TEST(ContextGroup, SplitEqualsWholeInHalfPrecision) {
  // Each part of the ring is rounded once, so a few units of the last place of the largest value.
  for (const int size : {2, 3}) {
    expect_parity({{13, 13}, 4, 2, 6}, size, at::kBFloat16, 4 * 0x1p-8);
    expect_parity({{13, 13}, 4, 2, 6}, size, at::kHalf, 4 * 0x1p-11);
  }
}

TEST(ContextGroup, EveryRunHasTheSameBits) {
  const Shape s{{17, 17}, 4, 2, 6};
  const LocalAttention whole = whole_input(s, at::kFloat);
  std::vector<std::vector<at::Tensor>> runs(2);
  for (auto& outs : runs) {
    outs.resize(4);
    on_ranks(4, [&](comm::Channel& channel) {
      const ContextGroup group(channel);
      const LocalAttention local = cut(whole, at::tensor(group.own_rows(s.sequences()), at::kLong));
      const auto output = group.attend(local, s.sequences());
      const auto gradients = group.attend_backward(at::ones_like(output.out_BTnH), local, output, s.sequences());
      outs[static_cast<std::size_t>(channel.rank())] =
          at::cat({output.out_BTnH.flatten(), gradients.dq_BTnH.flatten(), gradients.dk_BSkH.flatten(),
                   gradients.dv_BSkH.flatten()});
    });
  }
  for (std::size_t r = 0; r < 4; ++r) EXPECT_TRUE(at::equal(runs[0][r], runs[1][r])) << r;
}

// Writes down what is posted, by class: the bytes of each message.
class Recorded : public comm::Channel {
 public:
  using Posts = std::map<std::uint32_t, std::vector<std::int64_t>>;
  explicit Recorded(comm::Channel& channel) : channel_(channel) {}
  int rank() const override { return channel_.rank(); }
  int size() const override { return channel_.size(); }
  const std::string& name() const override { return channel_.name(); }
  comm::Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    EXPECT_EQ(to, (rank() + 1) % size());
    sent[comm::message_class(tag)].push_back(tensor.bytes());
    return channel_.send(tensor, to, tag);
  }
  comm::Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    received[comm::message_class(tag)].push_back(tensor.bytes());
    return channel_.recv(tensor, from, tag);
  }
  void abort(const base::Text& reason) override { channel_.abort(reason); }
  Posts sent, received;

 private:
  comm::Channel& channel_;
};

TEST(ContextGroup, AChannelWithoutTagsPairsEveryMessageWithItsOwn) {
  for (const int size : {2, 3, 4, 5}) {
    for (const std::int64_t T : {17, 40}) {
      const Shape s{{T, T}, 4, 2, 6};
      const LocalAttention whole = whole_input(s, at::kBFloat16);
      std::vector<Recorded::Posts> sent(static_cast<std::size_t>(size)), received(sent.size());
      on_ranks(size, [&](comm::Channel& channel) {
        Recorded recorded(channel);
        const ContextGroup group(recorded);
        const LocalAttention local = cut(whole, at::tensor(group.own_rows(s.sequences()), at::kLong));
        const auto output = group.attend(local, s.sequences());
        group.attend_backward(at::ones_like(output.out_BTnH), local, output, s.sequences());
        sent[static_cast<std::size_t>(channel.rank())] = recorded.sent;
        received[static_cast<std::size_t>(channel.rank())] = recorded.received;
      });
      for (std::size_t rank = 0; rank < sent.size(); ++rank) {
        EXPECT_EQ(sent[rank].size(), 2) << "classes: keys and gradients";
        EXPECT_EQ(sent[rank], received[(rank + 1) % sent.size()]) << size << " " << rank;
      }
    }
  }
}

TEST(ContextGroup, SaysWhyADeviceComputesItByProducts) {
  const auto gpus = gpu::stand_in_gpus();
  const tensor::Device device(*gpus, 0);
  const auto why = [&](const Shape& s) {
    std::string all;
    on_ranks(2, [&](comm::Channel& channel) {
      const ContextGroup group(channel);
      const std::int64_t t = static_cast<std::int64_t>(group.own_rows(s.sequences()).size());
      const tensor::TensorType type{tensor::Dtype::bf16, device};
      LocalAttention local{
          tensor::empty({1, t, s.n, s.H}, type), tensor::empty({1, t, s.k, s.H}, type), {}, {}};
      local.v_1tkH = local.k_1tkH;
      for (std::int64_t head = 0; head < s.n; ++head) local.kv_of_head.push_back(head * s.k / s.n);
      const std::vector<base::Text> reasons = group.why_products(local, s.sequences());
      EXPECT_LE(reasons.size(), 1);
      if (channel.rank() == 0 && !reasons.empty()) all = reasons[0].english;
    });
    return all;
  };
  EXPECT_EQ(why({{32}, 4, 2, 8}), "");
  EXPECT_EQ(why({{33}, 4, 2, 8}), "");
  EXPECT_THAT(why({{32}, 4, 3, 8}), testing::HasSubstr("unequal groups"));
  EXPECT_THAT(why({{32}, 4, 2, 6}), testing::HasSubstr("not 6"));
}

TEST(ContextGroup, TellsWhenItWaited) {
  const LocalAttention whole = whole_input({{8}, 2, 1, 4}, at::kFloat);
  on_ranks(2, [&](comm::Channel& channel) {
    int waits = 0;
    ContextGroup group(channel);
    group.set_on_wait([&](double begin_seconds, double end_seconds) {
      EXPECT_LE(begin_seconds, end_seconds);
      ++waits;
    });
    const Sequences sequences{{8, 0, 0}};
    group.attend(cut(whole, at::tensor(group.own_rows(sequences), at::kLong)), sequences);
    EXPECT_GT(waits, 0);
  });
}

}  // namespace
}  // namespace troika::sharding
