#include "gpu/device_runner_test_support.h"

#include <cstring>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "tensor/accelerator.h"

namespace troika::gpu {
using tensor::Dtype;
using tensor::Tensor;

void DeviceRunner::watch(void* data, std::size_t bytes, const std::set<std::size_t>* pages) {
  mirrors_[reinterpret_cast<std::uintptr_t>(data)] = {bytes, pages, {}};
}

void DeviceRunner::forget(void* data) { mirrors_.erase(reinterpret_cast<std::uintptr_t>(data)); }

std::int64_t DeviceRunner::free_bytes() const { return device_.accelerator().free_bytes(device_); }

void DeviceRunner::copy(const Mirrors::value_type& mirror, Way way) const {
  const auto& [begin, of] = mirror;
  const auto part = [&, begin = begin, &of = of](std::size_t first, std::size_t count) {
    const auto here_memory = std::make_shared<tensor::Memory>(reinterpret_cast<void*>(begin + first), count, tensor::Device());
    const auto bytes = static_cast<std::int64_t>(count);
    const Tensor here(here_memory, 0, Dtype::uint8, {bytes}, {1}),
        there = of.there.narrow(0, static_cast<std::int64_t>(first), bytes);
    if (way == Way::to_device) {
      there.copy_from(here);
    } else {
      here.copy_from(there);
    }
  };
  if (of.pages == nullptr) return part(0, of.bytes);
  for (const std::size_t page : *of.pages) {
    const std::size_t first = page * cuda::test_page_bytes;
    part(first, std::min(cuda::test_page_bytes, of.bytes - first));
  }
}

int DeviceRunner::run(const cuda::TestKernel& kernel) {
  if (kernel.blocks == 0) return 0;
  std::vector<char> argument(kernel.argument_bytes);
  std::memcpy(argument.data(), kernel.argument, argument.size());
  std::set<Mirrors::value_type*> used;
  for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= argument.size(); at += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, argument.data() + at, sizeof word);
    auto found = mirrors_.upper_bound(word);
    if (found == mirrors_.begin() || word - (--found)->first >= found->second.bytes) continue;
    Mirror& mirror = found->second;
    if (!mirror.there.defined()) {
      mirror.there = tensor::empty({static_cast<std::int64_t>(mirror.bytes)}, {Dtype::uint8, device_});
      if (mirror.pages != nullptr) mirror.there.fill(0);
    }
    used.insert(&*found);
    word = reinterpret_cast<std::uintptr_t>(mirror.there.data()) + (word - found->first);
    std::memcpy(argument.data() + at, &word, sizeof word);
  }
  if (used.empty()) throw base::BugError(std::string("no argument points into a buffer: ") + kernel.entry);
  for (const auto* mirror : used) copy(*mirror, Way::to_device);
  device_.accelerator().launch(device_, {kernel.entry, kernel.blocks, kernel.threads, argument.data()});
  for (const auto* mirror : used) copy(*mirror, Way::to_host);
  return 0;
}

}  // namespace troika::gpu
