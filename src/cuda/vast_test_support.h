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
  // What a test writes before a run, or reads behind it, it names before the run.
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

// Whether a device has room for so many bytes of buffers; the reason is shown where it has not.
#define TROIKA_NEEDS_BYTES(bytes)                                                                                        \
  if (const std::int64_t need = (bytes), free = ::troika::cuda::test_runner().free_bytes(); free < need)                                 \
  GTEST_SKIP() << "needs " << need / 1000000 << " MB of the device's memory, and " << free / 1000000 << " MB are free"

}  // namespace troika::cuda
