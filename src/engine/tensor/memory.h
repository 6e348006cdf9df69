// The memory of tensors: devices and blocks on them.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include "base/language.h"

namespace troika::tensor {

class Accelerator;

// The host, or one device of an accelerator, which must outlive every tensor on it. A value.
class Device {
 public:
  Device() = default;  // the host
  Device(Accelerator& accelerator, int index) : accelerator_(&accelerator), index_(index) {}
  bool is_cpu() const { return accelerator_ == nullptr; }
  bool is_cuda() const { return accelerator_ != nullptr; }
  int index() const { return index_; }
  Accelerator& accelerator() const { return *accelerator_; }  // not of the host
  bool operator==(const Device& other) const { return accelerator_ == other.accelerator_ && index_ == other.index_; }
  bool operator!=(const Device& other) const { return !(*this == other); }

 private:
  Accelerator* accelerator_ = nullptr;
  int index_ = 0;
};
std::string name_of(const Device& device);  // "cpu", "cuda:1"

// A block of memory; released with the last tensor in it. Blocks of the host may be released by any thread.
class Memory {
 public:
  Memory(void* data, std::size_t bytes, const Device& device) : data_(data), bytes_(bytes), device_(device) {}
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  const Device& device() const { return device_; }

 private:
  void* const data_;
  const std::size_t bytes_;
  const Device device_;
};

// "can't allocate memory: a tensor needs 4000000 bytes", and of which device where that is not the host.
class OutOfMemory : public std::bad_alloc {
 public:
  OutOfMemory(std::size_t bytes, const Device& device);
  const char* what() const noexcept override { return text_->english.c_str(); }
  const base::Text& text() const { return *text_; }

 private:
  const std::shared_ptr<const base::Text> text_;  // copies must not throw
};

// Uninitialised, aligned to 64 bytes on the host. OutOfMemory where the device has no room.
std::shared_ptr<Memory> allocate(std::size_t bytes, const Device& device);

// From now on large blocks of the host come from a PageCache, which keeps them when they are released; the C library keeps up to
// 512 MiB at the end of its heap, too. Without it the C library maps and unmaps large blocks each time. For programs: call it
// once, before other threads use tensors. In builds with a sanitizer it does nothing, so that accesses beside a tensor are found.
void keep_freed_memory();

}  // namespace troika::tensor
