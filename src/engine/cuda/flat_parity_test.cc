#include "cuda/flat_dispatch.h"
#include "cuda/kernel_test_support.h"

namespace troika::cuda {
namespace {

struct FlatShape {
  std::int64_t count, offset;  // of the buffers from 16 bytes
};
const FlatShape flat_shapes[] = {{1, 0},   {3, 0},    {4, 0},    {5, 1},    {37, 0},
                                 {255, 0}, {1024, 0}, {1027, 0}, {5003, 0}, {5003, 1}};

constexpr float usual_decay = 0.99997f;

AdamWNumbers usual_numbers() {
  AdamWNumbers a;
  a.lr = 3e-4f;
  a.beta1 = 0.9f;
  a.beta2 = 0.95f;
  a.one_minus_beta1 = 0.1f;
  a.one_minus_beta2 = 0.05f;
  a.eps = 1e-8f;
  a.m_correction = 3.7f;
  a.v_correction = 7.0f;
  a.gradient_scale = 0.37f;
  return a;
}

struct FlatCase {
  explicit FlatCase(const FlatShape& s)
      : parameter(normal<float>("p", s.count, s.offset)),
        gradient(normal<float>("g", s.count, s.offset)),
        m(normal<float>("m", s.count, s.offset)),
        v(normal<float>("v", s.count, s.offset)) {
    for (std::int64_t i = 0; i < s.count; ++i) v[i] *= v[i];
  }
  AdamWState state() { return {parameter.data(), gradient.data(), m.data(), v.data()}; }
  std::string bits() const { return bits_of(parameter, gradient, m, v); }

  Guarded<float> parameter, gradient, m, v;
};

// One rounding per operation, as cpu/flat_test.cc has it of module cpu.
void scalar_adamw(const AdamWNumbers& a, FlatCase& s, std::int64_t i) {
  const float g = s.gradient[i] * a.gradient_scale;
  s.m[i] = s.m[i] * a.beta1 + g * a.one_minus_beta1;
  s.v[i] = s.v[i] * a.beta2 + g * g * a.one_minus_beta2;
  const float update = s.m[i] * a.m_correction / (std::sqrt(s.v[i] * a.v_correction) + a.eps) * a.lr;
  s.parameter[i] = s.parameter[i] * usual_decay - update;
}

template <class T>
void expect_adamw_bits(const FlatShape& shape) {
  FlatCase want(shape), got(shape), alone(shape);
  Guarded<T> want_rounded(shape.count, shape.offset), rounded_too(shape.count, shape.offset);
  for (std::int64_t i = 0; i < shape.count; ++i) {
    scalar_adamw(usual_numbers(), want, i);
    want_rounded[i] = rounded<T>(want.parameter[i]);
  }
  dispatch::adamw(TestRun(1), usual_numbers(), {{shape.count, usual_decay}}, got.state(), dtype_of<T>(), rounded_too.data());
  EXPECT_TRUE(got.bits() == want.bits()) << shape.count;
  EXPECT_TRUE(rounded_too.bits() == want_rounded.bits()) << shape.count;
  dispatch::adamw(TestRun(2), usual_numbers(), {{shape.count, usual_decay}}, alone.state(), dtype_of<T>(), nullptr);
  EXPECT_TRUE(alone.bits() == want.bits()) << shape.count;
  Guarded<T> later(shape.count, shape.offset);
  dispatch::round_into(TestRun(3), shape.count, got.parameter.data(), dtype_of<T>(), later.data());
  EXPECT_TRUE(later.bits() == want_rounded.bits()) << shape.count;
}

TEST(CudaFlatParity, AdamwAndRoundingHaveTheBitsOfTheScalarFormulas) {
  for (const Dtype dtype : dtypes) {
    for (const FlatShape& shape : flat_shapes)
      dispatch::with_number(dtype, [&](auto type) { expect_adamw_bits<decltype(type)>(shape); });
  }
}

TEST(CudaFlatParity, AddIntoAddsEachElement) {
  for (const FlatShape& shape : flat_shapes) {
    FlatCase got(shape), want(shape);
    for (std::int64_t i = 0; i < shape.count; ++i) want.parameter[i] += want.gradient[i];
    dispatch::add_into(TestRun(1), shape.count, got.parameter.data(), got.gradient.data());
    EXPECT_TRUE(got.bits() == want.bits()) << shape.count;
  }
}

template <class T>
struct PartsCase {
  PartsCase(const FlatShape& s, std::size_t parts) : shape(s), sum(s.count, s.offset), room(s.count, s.offset) {
    for (std::size_t r = 0; r < parts; ++r) {
      part.push_back(normal<T>("part " + std::to_string(r), s.count, s.offset));
      for (std::int64_t i = 0; i < s.count; i += 7) part.back()[i] = rounded<T>(-0.0f);  // a part that begins is copied
    }
  }
  Guarded<T> want() const {
    Guarded<T> x(shape.count, shape.offset);
    for (std::int64_t i = 0; i < shape.count; ++i) {
      float total = to_float(part[0][i]);
      for (std::size_t r = 1; r < part.size(); ++r) total += to_float(part[r][i]);
      x[i] = rounded<T>(total);
    }
    return x;
  }
  std::string bits(const TestRun& run, Guarded<T>* into) {
    room.clear();
    std::vector<const void*> data;
    for (const Guarded<T>& one : part) data.push_back(one.data());
    dispatch::sum_of_parts(run, shape.count, data, dtype_of<T>(), into->data(), room.data());
    return into->bits();
  }
  std::string bits(const TestRun& run) {
    sum.clear();
    return bits(run, &sum);
  }

  FlatShape shape;
  std::vector<Guarded<T>> part;
  Guarded<T> sum;
  Guarded<float> room;
};

TEST(CudaFlatParity, SumsOfPartsHaveTheBitsOfAdditionsInTheirOrderRoundedOnce) {
  for (const Dtype dtype : dtypes) {
    for (const FlatShape& shape : flat_shapes) {
      for (const std::size_t parts : {1U, 2U, 3U, 8U, 9U, 17U}) {
        dispatch::with_number(dtype, [&](auto type) {
          PartsCase<decltype(type)> c(shape, parts);
          const std::string want = c.want().bits();
          const TestRun run(1);
          EXPECT_TRUE(c.bits(run) == want) << parts << " parts of " << shape.count;
          EXPECT_EQ(run.barriers().size(), (parts + 7) / 8);
          EXPECT_TRUE(c.bits(TestRun(2), &c.part.back()) == want) << "in place, " << parts << " parts of " << shape.count;
          EXPECT_TRUE(c.room.guards_are_whole());
        });
      }
    }
  }
}

// The order of cpu/square_sum-inl.h.
double sixteen_lane_squares(const float* x, std::int64_t count) {
  double lanes[16] = {}, sum = 0;
  for (std::int64_t i = 0; i < count; ++i) lanes[i % 16] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  for (const double lane : lanes) sum += lane;
  return sum;
}

TEST(CudaFlatParity, ChunkSquaresHaveTheBitsOfTheScalarFormula) {
  for (const FlatShape& shape : flat_shapes) {
    for (const std::int64_t chunk : {1, 7, 16, 100, 4096}) {
      const Guarded<float> x = normal<float>("x", shape.count, shape.offset);
      const std::int64_t chunks = (shape.count + chunk - 1) / chunk;
      Guarded<double> got(chunks), want(chunks);
      for (std::int64_t i = 0; i < chunks; ++i)
        want[i] = sixteen_lane_squares(x.data() + i * chunk, std::min(chunk, shape.count - i * chunk));
      dispatch::chunk_squares(TestRun(1), {{shape.count}}, x.data(), chunk, got.data());
      EXPECT_TRUE(got.bits() == want.bits()) << shape.count << " in " << chunk;
    }
  }
}

template <class Word>
struct WordsCase {
  explicit WordsCase(std::int64_t count) : words(count), sum(1) {
    for (std::int64_t i = 0; i < count; ++i) words[i] = static_cast<Word>(0x9E3779B9u * static_cast<std::uint32_t>(i + 1));
  }
  Operation operation() {
    return [this](const TestRun& run) {
      sum[0] = 0xffffffff;
      dispatch::bits_sum(run, words.size(), sizeof(Word), words.data(), sum.data());
      return bits_of(sum);
    };
  }
  void expect_sum() {
    operation()(TestRun(1));
    std::uint32_t want = 0xffffffff;
    for (std::int64_t i = 0; i < words.size(); ++i) want += words[i];
    EXPECT_EQ(sum[0], want) << words.size();
    EXPECT_TRUE(sum.guards_are_whole());
  }
  Guarded<Word> words;
  Guarded<std::int64_t> sum;
};

TEST(CudaFlatParity, BitsAreSummedModuloAWord) {
  for (const std::int64_t count : {0, 1, 255, 2049, 30011}) {
    WordsCase<std::uint16_t>(count).expect_sum();
    WordsCase<std::uint32_t>(count).expect_sum();
  }
}

TEST(CudaFlat, OfNothingIsNothing) {
  FlatCase c({0, 0});
  const std::string before = c.bits();
  dispatch::adamw(TestRun(1), usual_numbers(), {{0, usual_decay}}, c.state(), Dtype::fp32, nullptr);
  dispatch::add_into(TestRun(1), 0, c.m.data(), c.v.data());
  dispatch::chunk_squares(TestRun(1), {{0}}, c.m.data(), 4096, nullptr);
  EXPECT_TRUE(c.bits() == before);
}

TEST(CudaFlat, OrdersAndPlantedFaults) {
  for (const FlatShape& shape : {FlatShape{1027, 0}, FlatShape{257, 1}}) {
    const FlatCase start(shape);
    FlatCase c = start;
    Guarded<Bf16> half(shape.count);
    Guarded<double> squares(shape.count / 16 + 1);
    const Operation adamw = [&](const TestRun& run) {
      c = start;
      half.clear();
      dispatch::adamw(run, usual_numbers(), {{shape.count, usual_decay}}, c.state(), Dtype::bf16, half.data());
      return c.bits() + bits_of(half);
    };
    const Operation add = [&](const TestRun& run) {
      c = start;
      dispatch::add_into(run, shape.count, c.m.data(), c.v.data());
      return c.bits();
    };
    const Operation round = [&](const TestRun& run) {
      half.clear();
      dispatch::round_into(run, shape.count, start.m.data(), Dtype::bf16, half.data());
      return bits_of(half);
    };
    const Operation square = [&](const TestRun& run) {
      squares.clear();
      dispatch::chunk_squares(run, {{shape.count}}, start.m.data(), 16, squares.data());
      return bits_of(squares);
    };
    WordsCase<std::uint32_t> words(shape.count);
    PartsCase<Bf16> parts(shape, 9);
    const Operation sum = [&](const TestRun& run) { return parts.bits(run); };
    for (const Operation& operation : {adamw, add, sum, round, square, words.operation()}) {
      expect_same_bits_in_any_order(operation);
      expect_faults_are_seen(operation);
    }
  }
}

}  // namespace
}  // namespace troika::cuda
