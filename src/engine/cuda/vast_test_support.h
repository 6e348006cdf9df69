// Buffers of more elements than 32 bits count, of which a test touches few: address space on the host, and memory only where
// something is written.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cuda/kernel_test_support.h"

namespace troika::cuda {

// The pages of address space, of zeros.
void* new_address_space(std::size_t bytes);  // BugError
void end_address_space(void* data, std::size_t bytes) noexcept;

template <class T>
class Vast {
 public:
  explicit Vast(std::int64_t count) : count_(count), data_(static_cast<T*>(new_address_space(bytes()))) {
    test_runner().watch(data_, bytes(), &pages_);
  }
  ~Vast() {
    test_runner().forget(data_);
    end_address_space(data_, bytes());
  }
  Vast(const Vast&) = delete;
  Vast& operator=(const Vast&) = delete;

  T* data() { return data_; }
  std::int64_t size() const { return count_; }
  // Before a run, a test names the elements that it writes before the run or reads after it.
  T& operator[](std::int64_t i) {
    pages_.insert(static_cast<std::size_t>(i) * sizeof(T) / test_page_bytes);
    return data_[i];
  }
  void set(std::int64_t first, const std::vector<T>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) (*this)[first + static_cast<std::int64_t>(i)] = values[i];
  }
  std::vector<T> get(std::int64_t first, std::int64_t count) const { return {data_ + first, data_ + first + count}; }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }
  const std::int64_t count_;
  std::set<std::size_t> pages_;
  T* const data_;
};

inline constexpr std::int64_t beyond = std::int64_t{1} << 31;
inline constexpr std::int64_t gigabyte = 1000000000;

// M rows, three of which a test looks at: the first, one behind 2^31 elements of D a row, the last.
struct ThreeRows {
  ThreeRows(std::int64_t rows, std::int64_t D) : M(rows), at{0, beyond / D + 1, rows - 1} {}
  std::int64_t M, at[3];

  // The blocks that have these rows, where rows share blocks or blocks share a row in order. The last block may have less than
  // the others, so a row may lie one before; few blocks have exact shares.
  TestRun run() const {
    return TestRun([*this](std::int64_t blocks) {
      const std::int64_t before = blocks > 1056 ? 1 : 0;
      std::set<std::int64_t> chosen;
      for (const std::int64_t row : at) {
        for (std::int64_t block = row * blocks / M - before; block <= ((row + 1) * blocks - 1) / M; ++block)
          if (block >= 0 && block < blocks) chosen.insert(block);
      }
      return std::vector<std::int64_t>(chosen.begin(), chosen.end());
    });
  }
  template <class T>
  void give(Vast<T>& x, const Guarded<T>& rows) const {
    const std::int64_t width = rows.size() / 3;
    for (int i = 0; i < 3; ++i)
      for (std::int64_t d = 0; d < width; ++d) x[at[i] * (x.size() / M) + d] = rows[i * width + d];
  }
  template <class T>
  void expect(Vast<T>& x, const Guarded<T>& want, const char* name) const {
    const std::int64_t width = want.size() / 3;
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(std::memcmp(&x[at[i] * (x.size() / M)], &want[i * width], static_cast<std::size_t>(width) * sizeof(T)), 0)
          << name << ", row " << at[i];
  }
};

// Rows of a vast buffer and the same in a small one. What is computed is poison at first.
template <class T>
struct Both {
  Both(const ThreeRows& of, std::int64_t width) : rows(of), vast(of.M * width), small(3 * width) { rows.give(vast, small); }
  Both(const ThreeRows& of, std::int64_t width, const char* name)
      : rows(of), vast(of.M * width), small(normal<T>(name, 3 * width)) {
    rows.give(vast, small);
  }
  void expect_equal(const char* name) {
    rows.expect(vast, small, name);
    EXPECT_TRUE(small.guards_are_whole()) << name;
  }
  const ThreeRows rows;
  Vast<T> vast;
  Guarded<T> small;
};

// Whether a device has room for so many bytes of buffers; the reason is shown where it has not.
#define TROIKA_NEEDS_BYTES(bytes)                                                                        \
  if (const std::int64_t need = (bytes), free = ::troika::cuda::test_runner().free_bytes(); free < need) \
  GTEST_SKIP() << "needs " << need / 1000000 << " MB of the device's memory, and " << free / 1000000 << " MB are free"

}  // namespace troika::cuda
