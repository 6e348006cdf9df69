#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/flat.h"
#include "kernels/parity_test_support.h"
#include "kernels/reference/reference_test_support.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

constexpr std::int64_t norm_chunk = 4096;

struct Buffers {
  at::Tensor p, g, m, v;

  Buffers narrow(std::int64_t begin, std::int64_t count) const {
    return {p.narrow(0, begin, count), g.narrow(0, begin, count), m.narrow(0, begin, count), v.narrow(0, begin, count)};
  }
  Buffers clone() const { return {p.clone(), g.clone(), m.clone(), v.clone()}; }
  AdamWTensors tensors(const at::Tensor& rounded = {}) const { return {p, g, m, v, rounded}; }
};

struct Step {
  AdamW settings;
  double weight_decay = 0.1;

  void operator()(const Buffers& b, const at::Tensor& rounded = {}) const {
    adamw(settings, {{b.p.numel(), weight_decay}}, b.tensors(rounded));
  }
};

Buffers make_buffers(std::int64_t count) {
  return {random_normal("p", {count}), random_normal("g", {count}), random_normal("m", {count}).mul_(0.1),
          random_normal("v", {count}).square_()};
}

bool same_bits(const Buffers& a, const Buffers& b) {
  return at::equal(a.p, b.p) && at::equal(a.m, b.m) && at::equal(a.v, b.v);
}

Step usual() {
  Step step;
  AdamW& s = step.settings;
  s.lr = 3e-4;
  s.beta1 = 0.9;
  s.beta2 = 0.95;
  s.eps = 1e-8;
  s.step = 3;
  s.gradient_scale = 0.37;
  return step;
}

// The formulas of the paper on one element, in double.
void scalar_adamw(const Step& step, double g, double* p, double* m, double* v) {
  const AdamW& s = step.settings;
  g *= s.gradient_scale;
  *m = s.beta1 * *m + (1 - s.beta1) * g;
  *v = s.beta2 * *v + (1 - s.beta2) * g * g;
  const double m_hat = *m / (1 - std::pow(s.beta1, static_cast<double>(s.step)));
  const double v_hat = *v / (1 - std::pow(s.beta2, static_cast<double>(s.step)));
  *p -= s.lr * step.weight_decay * *p;
  *p -= s.lr * m_hat / (std::sqrt(v_hat) + s.eps);
}

void expect_steps_agree(Step step, std::int64_t count, const at::Tensor& start, Parity& parity) {
  const Buffers got{start.clone(), at::empty({count}), at::zeros({count}), at::zeros({count})};
  const Buffers want{start.to(at::kDouble), {}, at::zeros({count}, at::kDouble), at::zeros({count}, at::kDouble)};
  std::int64_t& index = step.settings.step;
  for (index = 1; index <= 8; ++index) {
    got.g.copy_(random_normal("g" + std::to_string(index), {count}));
    step(got);
    for (std::int64_t i = 0; i < count; ++i) {
      scalar_adamw(step, static_cast<double>(got.g.data_ptr<float>()[i]), want.p.data_ptr<double>() + i,
                   want.m.data_ptr<double>() + i, want.v.data_ptr<double>() + i);
    }
  }
  parity.compare("p", got.p, want.p);
  parity.compare("m", got.m, want.m);
  parity.compare("v", got.v, want.v);
}

TEST(AdamwParity, EightStepsAgreeWithAScalarLoopInDouble) {
  Parity parity;
  for (const std::int64_t count : {1, 7, 1000, 70001}) {
    expect_steps_agree(usual(), count, random_normal("p", {count}), parity);
    // From zero the parameter is the sum of the updates alone, so this measures the updates.
    expect_steps_agree(usual(), count, at::zeros({count}), parity);
    Step other = usual();
    other.weight_decay = 0;
    other.settings.beta2 = 0.999;
    other.settings.gradient_scale = 1;
    other.settings.lr = 0.01;
    expect_steps_agree(other, count, at::zeros({count}), parity);
  }
}

TEST(AdamwParity, RandomSizes) {
  base::Draw draw("adamw");
  Parity parity;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t count = random_size(draw, 9000);
    expect_steps_agree(usual(), count, random_normal("p", {count}), parity);
  }
}

TEST(AdamwParity, HasTheBitsOfTheReference) {
  Step without_decay = usual();
  without_decay.weight_decay = 0;
  without_decay.settings.step = 1000;
  for (const Step& step : {usual(), without_decay}) {
    const Buffers got = make_buffers(200003), want = got.clone();
    step(got);
    reference::adamw(step.settings, step.weight_decay, want.tensors());
    EXPECT_TRUE(same_bits(got, want));
  }
}

template <class Bits>
std::uint32_t sum_of(const at::Tensor& tensor) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) sum += static_cast<const Bits*>(tensor.data_ptr())[i];
  return sum;
}

std::uint32_t plain_sum(const at::Tensor& tensor) {
  return tensor.element_size() == 2 ? sum_of<std::uint16_t>(tensor) : sum_of<std::uint32_t>(tensor);
}

// Stretches of these lengths, with and without decay in turn.
std::vector<DecayStretch> stretches_of(const std::vector<std::int64_t>& counts) {
  std::vector<DecayStretch> stretches;
  for (const std::int64_t count : counts) stretches.push_back({count, stretches.size() % 3 == 1 ? 0 : 0.1});
  return stretches;
}

// Within a piece of work, over several, ending with one, and too many for one.
std::vector<std::vector<DecayStretch>> cuts() {
  return {stretches_of({1}),
          stretches_of({1000}),
          stretches_of({15, 16, 17, 1}),
          stretches_of({65536, 65536, 7}),
          stretches_of({3, 200000, 1, 1, 70000, 31}),
          stretches_of(std::vector<std::int64_t>(300, 437))};
}

std::int64_t elements_of(const std::vector<DecayStretch>& stretches) {
  std::int64_t count = 0;
  for (const DecayStretch& stretch : stretches) count += stretch.count;
  return count;
}

// Each stretch by itself.
void step_apart(const std::vector<DecayStretch>& stretches, const Buffers& b) {
  std::int64_t begin = 0;
  for (const DecayStretch& stretch : stretches) {
    Step{usual().settings, stretch.weight_decay}(b.narrow(begin, stretch.count));
    begin += stretch.count;
  }
}

TEST(AdamwParity, AStepOfManyStretchesHasTheBitsOfEachByItself) {
  for (const std::vector<DecayStretch>& stretches : cuts()) {
    const Buffers got = make_buffers(elements_of(stretches)), want = got.clone();
    adamw(usual().settings, stretches, got.tensors());
    step_apart(stretches, want);
    EXPECT_TRUE(same_bits(got, want));
  }
}

TEST(AdamwParity, AStepWithSumsHasTheBitsOfOneWithoutAndSumsWhatItReadAndWrote) {
  for (const std::vector<DecayStretch>& stretches : cuts()) {
    for (const bool half : {false, true}) {
      const Buffers start = make_buffers(elements_of(stretches)), got = start.clone(), want = start.clone();
      const at::Tensor rounded_start = start.v.to(at::kBFloat16), rounded = half ? rounded_start.clone() : at::Tensor();
      const at::Tensor sums = adamw_summed(usual().settings, stretches, got.tensors(rounded));
      step_apart(stretches, want);
      EXPECT_TRUE(same_bits(got, want));
      EXPECT_TRUE(!half || at::equal(rounded, want.p.to(at::kBFloat16)));
      const at::Tensor found_left[] = {start.p, start.m, start.v, rounded_start, got.p, got.m, got.v, rounded};
      ASSERT_EQ(sums.sizes(), (std::vector<std::int64_t>{static_cast<std::int64_t>(stretches.size()), 2, 4}));
      const std::int64_t* sum = sums.data_ptr<std::int64_t>();
      std::int64_t begin = 0;
      for (const DecayStretch& stretch : stretches) {
        for (int i = 0; i < 8; ++i, ++sum) {
          const bool none = i % 4 == 3 && !half;
          EXPECT_EQ(*sum, none ? 0U : plain_sum(found_left[i].narrow(0, begin, stretch.count))) << i;
        }
        begin += stretch.count;
      }
    }
  }
}

TEST(BitsSum, OfEveryLengthIsThatOfTheReferenceAndOneFlippedBitChangesIt) {
  for (const std::int64_t count : {0, 1, 3, 33, 70000, 200001}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      const at::Tensor x = random_normal("sum", {count}).to(dtype);
      EXPECT_EQ(tensor::theirs(bits_sum(x)).item<std::int64_t>(), plain_sum(x));
      EXPECT_EQ(reference::bits_sum(x).item<std::int64_t>(), plain_sum(x));
      if (count == 0) continue;
      const std::int64_t before = tensor::theirs(bits_sum(x)).item<std::int64_t>();
      auto* bytes = static_cast<std::uint8_t*>(x.data_ptr());
      for (const std::size_t at : {std::size_t{0}, x.nbytes() / 2, x.nbytes() - 1}) {
        for (int bit = 0; bit < 8; ++bit) {
          bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1U << bit));
          EXPECT_NE(tensor::theirs(bits_sum(x)).item<std::int64_t>(), before);
          bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1U << bit));
        }
      }
    }
  }
}

TEST(AdamwParity, AZeroGradientWithZeroStateOnlyDecays) {
  const Buffers b{at::full({5}, 2.0f), at::zeros({5}), at::zeros({5}), at::zeros({5})};
  usual()(b);
  EXPECT_TRUE(at::allclose(b.p, at::full({5}, 2.0 * (1 - 3e-5)), 1e-7, 0));
  EXPECT_TRUE(at::equal(b.m, at::zeros({5})));
}

TEST(AdamwParity, AnElementsBitsDoNotDependOnItsOffset) {
  constexpr std::int64_t count = 150000;  // more than two pieces
  const Buffers start = make_buffers(count), whole = start.clone();
  usual()(whole);
  for (const std::int64_t shift : {1, 2, 3, 5, 7, 8, 13, 31, 4097, 65535, 65537}) {
    const Buffers shifted = start.narrow(shift, count - shift).clone();  // other alignment of data and of pieces
    usual()(shifted);
    EXPECT_TRUE(same_bits(shifted, whole.narrow(shift, count - shift))) << shift;
    const Buffers inside = start.clone();
    usual()(inside.narrow(shift, count - shift));
    EXPECT_TRUE(same_bits(inside.narrow(shift, count - shift), whole.narrow(shift, count - shift))) << shift;
    EXPECT_TRUE(same_bits(inside.narrow(0, shift), start.narrow(0, shift))) << shift;
  }
}

TEST(AdamwParity, BitsDoNotDependOnHowTheBufferIsCut) {
  const Buffers start = make_buffers(1000), whole = start.clone();
  usual()(whole);
  for (const std::int64_t piece : {1, 3, 9, 64, 333}) {
    const Buffers cut = start.clone();
    for (std::int64_t begin = 0; begin < 1000; begin += piece) {
      usual()(cut.narrow(begin, std::min<std::int64_t>(piece, 1000 - begin)));
    }
    EXPECT_TRUE(same_bits(cut, whole)) << piece;
  }
}

// Rounds to nearest, ties to even, by the bits of the number.
at::Tensor bfloat16_by_bits(const at::Tensor& x) {
  at::Tensor rounded = at::empty({x.numel()}, at::kBFloat16);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, x.data_ptr<float>() + i, sizeof bits);
    const auto high = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    std::memcpy(rounded.data_ptr<at::BFloat16>() + i, &high, sizeof high);
  }
  return rounded;
}

TEST(RoundInto, RoundsToNearestAndTiesToEven) {
  const at::Tensor x = at::cat({random_normal("x", {1001}), at::tensor({1.00390625f, 1.01171875f, -1.00390625f, 0.f})});
  const at::Tensor rounded = at::empty({1005}, at::kBFloat16), half = at::empty({3}, at::kHalf);
  round_into(x, rounded);
  EXPECT_TRUE(at::equal(rounded, bfloat16_by_bits(x)));
  round_into(at::tensor({1.00048828125f, 1.00146484375f, 1e6f}), half);  // two ties, and too large
  EXPECT_TRUE(at::equal(half.to(at::kFloat), at::tensor({1.f, 1.001953125f, std::numeric_limits<float>::infinity()})));
}

TEST(RoundInto, AnElementsBitsDoNotDependOnItsOffset) {
  constexpr std::int64_t count = 70001;
  const at::Tensor x = random_normal("x", {count});
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor whole = at::empty({count}, dtype), part = at::empty({count}, dtype);
    round_into(x, whole);
    for (const std::int64_t shift : {1, 3, 7, 31, 4097}) {
      round_into(x.narrow(0, shift, count - shift), part.narrow(0, 0, count - shift));
      EXPECT_TRUE(at::equal(part.narrow(0, 0, count - shift), whole.narrow(0, shift, count - shift))) << shift;
    }
  }
}

TEST(AdamwParity, TheRoundedCopyIsTheNewParameterAndChangesNothingElse) {
  for (const std::int64_t count : {1, 1000, 70001}) {
    for (const at::ScalarType dtype : dtypes) {
      const Buffers plain = make_buffers(count), copied = plain.clone();
      const at::Tensor rounded = at::full({count}, 42.0f, dtype);
      usual()(plain);
      usual()(copied, rounded);
      EXPECT_TRUE(same_bits(copied, plain));
      EXPECT_TRUE(at::equal(rounded, plain.p.to(dtype)));
    }
  }
}

TEST(AdamwParity, StepsTooSmallForTheRoundedCopyAddUpInTheParameter) {
  Step step = usual();
  step.weight_decay = 0;
  const Buffers b{at::ones({3}), at::ones({3}), at::zeros({3}), at::zeros({3})};
  const at::Tensor rounded = at::ones({3}, at::kBFloat16);
  for (step.settings.step = 1; step.settings.step <= 20; ++step.settings.step) step(b, rounded);
  EXPECT_TRUE(at::allclose(b.p, at::full({3}, 1 - 20 * 3e-4), 1e-5, 0));
  EXPECT_TRUE(at::equal(rounded, at::full({3}, 0.9921875f, at::kBFloat16)));  // 1 - 3e-4 alone rounds to 1
}

TEST(AddInto, IsTheElementwiseSumWhereverTheElementLies) {
  constexpr std::int64_t count = 70001;
  const at::Tensor a = random_normal("a", {count}), b = random_normal("b", {count}), whole = a.clone();
  add_into(whole, b);
  for (std::int64_t i = 0; i < count; i += 997) {
    EXPECT_EQ(whole.data_ptr<float>()[i], a.data_ptr<float>()[i] + b.data_ptr<float>()[i]);
  }
  for (const std::int64_t shift : {1, 3, 7, 4097}) {
    const at::Tensor part = a.narrow(0, shift, count - shift).clone();
    add_into(part, b.narrow(0, shift, count - shift));
    EXPECT_TRUE(at::equal(part, whole.narrow(0, shift, count - shift))) << shift;
  }
}

TEST(AddInto, RandomSizes) {
  base::Draw draw("add");
  Parity parity;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t count = random_size(draw, 9000);
    const at::Tensor a = random_normal("a", {count}), b = random_normal("b", {count}), sum = a.clone();
    add_into(sum, b);
    parity.compare("sum", sum, a.to(at::kDouble) + b.to(at::kDouble));
  }
}

std::vector<double> squares_of(const at::Tensor& x) {
  const at::Tensor squares = chunk_squares(x, {x.numel()}, norm_chunk);
  return {squares.data_ptr<double>(), squares.data_ptr<double>() + squares.numel()};
}

TEST(ChunkSquares, AgreesWithAScalarLoopInDouble) {
  Parity parity(1e-14);
  base::Draw draw("squares");
  std::vector<std::int64_t> counts{1, 5, 4095, 4096, 4097, 3 * 4096, 50000};
  for (int i = 0; i < 20; ++i) counts.push_back(random_size(draw, 9000));
  for (const std::int64_t count : counts) {
    const at::Tensor x = random_normal("x", {count});
    const std::vector<double> got = squares_of(x);
    ASSERT_EQ(static_cast<std::int64_t>(got.size()), (count + norm_chunk - 1) / norm_chunk);
    for (std::size_t chunk = 0; chunk < got.size(); ++chunk) {
      double want = 0;
      const auto begin = static_cast<std::int64_t>(chunk) * norm_chunk;
      for (std::int64_t i = begin; i < std::min(count, begin + norm_chunk); ++i) {
        want += static_cast<double>(x.data_ptr<float>()[i]) * static_cast<double>(x.data_ptr<float>()[i]);
      }
      parity.compare("sum", got[chunk], want);
    }
  }
}

TEST(ChunkSquares, OfNothingIsNothing) { EXPECT_TRUE(squares_of(at::empty({0})).empty()); }

TEST(ChunkSquares, OfLargeValuesDoesNotOverflow) {
  EXPECT_DOUBLE_EQ(squares_of(at::full({2}, 1e30f))[0], 2 * static_cast<double>(1e30f) * static_cast<double>(1e30f));
}

TEST(ChunkSquares, AChunksBitsDependOnItsElementsAlone) {
  constexpr std::int64_t chunks = 9, tail = 1234;
  const at::Tensor x = random_normal("x", {chunks * norm_chunk + tail});
  const std::vector<double> whole = squares_of(x);
  for (std::int64_t first = 0; first < chunks; ++first) {
    for (std::int64_t count = 1; first + count <= chunks; ++count) {
      const auto some = squares_of(x.narrow(0, first * norm_chunk, count * norm_chunk).clone());
      for (std::int64_t i = 0; i < count; ++i) {
        EXPECT_EQ(some[static_cast<std::size_t>(i)], whole[static_cast<std::size_t>(first + i)]);
      }
    }
  }
  EXPECT_EQ(squares_of(x.narrow(0, chunks * norm_chunk, tail).clone())[0], whole.back());
}

class Threads : public testing::Test {
 protected:
  void TearDown() override { tensor::set_threads(before_); }
  const int before_ = tensor::threads();
};

TEST_F(Threads, DoNotChangeTheBitsOfFlatOperations) {
  constexpr std::int64_t count = 300001;
  tensor::set_threads(1);
  const Buffers one = make_buffers(count), start = one.clone();
  usual()(one);
  const std::vector<double> squares = squares_of(start.p);
  for (const int threads : {2, 3}) {
    tensor::set_threads(threads);
    const Buffers several = start.clone();
    usual()(several);
    EXPECT_TRUE(same_bits(several, one)) << threads;
    EXPECT_EQ(squares_of(start.p), squares) << threads;
    const at::Tensor sum = start.p.clone();
    add_into(sum, start.g);
    EXPECT_TRUE(at::equal(sum, start.p + start.g));
    const Buffers copied = start.clone();
    const at::Tensor rounded = at::empty({count}, at::kBFloat16);
    usual()(copied, rounded);
    EXPECT_TRUE(same_bits(copied, one) && at::equal(rounded, one.p.to(at::kBFloat16))) << threads;
  }
}

}  // namespace
}  // namespace troika::kernels
