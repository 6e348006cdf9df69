// Shared parts of the tests of the kernels: guarded buffers, seeded inputs, runs in drawn orders, and planted faults.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "cuda/number.h"
#include "cuda/test_runner_test_support.h"

namespace troika::cuda {

inline constexpr Dtype dtypes[] = {Dtype::fp32, Dtype::bf16, Dtype::fp16};

// `count` elements between guards, all of poison (every bit set: NaN, or -1) at first. The first one is `offset`
// elements behind a multiple of 64 bytes.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::int64_t count, std::int64_t offset = 0)
      : count_(static_cast<std::size_t>(count)),
        before_(guard + static_cast<std::size_t>(offset)),
        all_(before_ + count_ + guard, poison()) {}

  T* data() { return first(); }
  const T* data() const { return first(); }
  std::int64_t size() const { return static_cast<std::int64_t>(count_); }
  T& operator[](std::int64_t i) { return first()[i]; }
  const T& operator[](std::int64_t i) const { return first()[i]; }
  void clear() { all_.assign(all_.size(), poison()); }  // to poison

  // Everything, guards as well.
  std::string bits() const { return {reinterpret_cast<const char*>(all_.data()), all_.size() * sizeof(T)}; }
  bool guards_are_whole() const {
    const std::string all = bits();
    const std::size_t begin = before_ * sizeof(T), end = begin + count_ * sizeof(T);
    return all.substr(0, begin).find_first_not_of('\xff') == std::string::npos &&
           all.substr(end).find_first_not_of('\xff') == std::string::npos;
  }

 private:
  template <class U>
  struct Aligned {
    using value_type = U;
    U* allocate(std::size_t n) {
      U* const data = static_cast<U*>(::operator new (n * sizeof(U), std::align_val_t{64}));
      test_runner().watch(data, n * sizeof(U), nullptr);
      return data;
    }
    void deallocate(U* data, std::size_t) {
      test_runner().forget(data);
      ::operator delete (data, std::align_val_t{64});
    }
    bool operator==(const Aligned&) const { return true; }
    bool operator!=(const Aligned&) const { return false; }
  };

  static constexpr std::size_t guard = 512;  // elements, so that faulty kernels stay inside; a multiple of 64 bytes
  static T poison() {
    T x;
    std::memset(&x, 0xff, sizeof x);
    return x;
  }
  T* first() const { return const_cast<T*>(all_.data()) + before_; }

  std::size_t count_, before_;
  std::vector<T, Aligned<T>> all_;
};

// Standard normal numbers, rounded to T.
template <class T>
Guarded<T> normal(std::string_view name, std::int64_t count, std::int64_t offset = 0) {
  std::vector<float> values(static_cast<std::size_t>(count));
  base::Philox(5, name).fill_normal(0, count, values.data());
  Guarded<T> x(count, offset);
  for (std::int64_t i = 0; i < count; ++i) x[i] = rounded<T>(values[static_cast<std::size_t>(i)]);
  return x;
}

template <class T>
constexpr Dtype dtype_of() {
  return sizeof(T) == 4 ? Dtype::fp32 : std::is_same_v<T, Bf16> ? Dtype::bf16 : Dtype::fp16;
}

template <class T>
double value(T x) {
  return static_cast<double>(to_float(x));
}

// Each within 1e-5 of the largest, which is what sums in fp32 in another order cost, and for halves half a unit in its
// last place, the one rounding at the end.
template <class T>
void expect_close(const Guarded<T>& got, const std::vector<double>& want, const char* name) {
  const double unit = sizeof(T) == 4 ? 0 : std::is_same_v<T, Bf16> ? 0x1p-8 : 0x1p-11;
  double largest = 0;
  for (const double x : want) largest = std::max(largest, std::abs(x));
  ASSERT_EQ(got.size(), static_cast<std::int64_t>(want.size())) << name;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double exact = want[static_cast<std::size_t>(i)];
    // The last is of the smallest fp16.
    ASSERT_NEAR(value(got[i]), exact, 1e-5 * largest + unit * std::abs(exact) + (sizeof(T) == 4 ? 0 : 0x1p-25))
        << name << " " << i;
  }
  EXPECT_TRUE(got.guards_are_whole()) << name;
}

struct PlantedFault {
  int kernel = -1;  // of the operation's, in their order
  Fault fault;
};

// Gives an operation's kernels (dispatch.h) to the test runner.
class TestRun {
 public:
  explicit TestRun(std::uint64_t seed, const PlantedFault& planted = {}) : seed_(seed), planted_(planted) {}
  explicit TestRun(BlockChoice choice) : seed_(1), choice_(std::move(choice)) {}
  template <class Kernel>
  void operator()(const Kernel& kernel) const {
    const bool faulty = static_cast<int>(barriers_.size()) == planted_.kernel;
    barriers_.push_back(
        test_runner().run(TestKernel(kernel, seed_ + 100 * barriers_.size(), faulty ? planted_.fault : Fault(), choice_)));
  }
  const std::vector<int>& barriers() const { return barriers_; }  // of each kernel, where the host runs it

 private:
  const std::uint64_t seed_;
  const PlantedFault planted_;
  const BlockChoice choice_ = all_blocks;
  mutable std::vector<int> barriers_;
};

// Clears its outputs, runs and returns their bits.
using Operation = std::function<std::string(const TestRun& run)>;

template <class... Outputs>
std::string bits_of(const Outputs&... outputs) {
  return (outputs.bits() + ...);
}

void expect_same_bits_in_any_order(const Operation& operation);

// In every kernel, threads that are off by one, and every barrier that does not hold. Nothing where no fault can be planted.
void expect_faults_are_seen(const Operation& operation);

}  // namespace troika::cuda
