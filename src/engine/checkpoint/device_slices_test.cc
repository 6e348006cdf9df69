// Saving and loading what lies on a GPU, over the stand-in of its driver: the bytes of the host's, and few waits.
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "checkpoint/layouts_test_support.h"
#include "checkpoint/part.h"
#include "gpu/nvidia_test_support.h"
#include "tensor/device.h"
#include "tensor/operations.h"
#include "tensor/upload.h"

namespace troika::checkpoint {
namespace {
using tensor::Dtype;
using tensor::Tensor;

// Sizes as a model has them: a table, matrices, and many vectors that are shorter than anything.
std::vector<Slice> slices_on(const tensor::Device& device, bool filled) {
  std::vector<Slice> slices;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t elements = i == 0 ? 2500000 : i % 4 == 0 ? 70000 + i : 64 + i;
    const Tensor values = filled ? tensor::range(elements, Dtype::int64, i).to(Dtype::fp32) : tensor::full({elements}, std::nan(""));
    slices.push_back({"t" + std::to_string(i), {elements}, {0, elements, elements, 1}, values.to(device)});
  }
  return slices;
}

std::int64_t bytes_of(const std::vector<Slice>& slices) {
  std::int64_t bytes = 0;
  for (const Slice& slice : slices) bytes += slice.data.bytes();
  return bytes;
}

TEST(SlicesOfADevice, AreWrittenWithTheHostsBytesAndAWaitForEachBuffer) {
  const auto gpus = gpu::stand_in_gpus();
  const std::string folder = testing_support::fresh_folder("device_slices");
  std::vector<Slice> there = slices_on({*gpus, 0}, true), here = slices_on({}, true);
  there[8].data = there[8].data.to(Dtype::bf16);  // of a frozen weight
  here[8].data = here[8].data.to(Dtype::bf16);
  int told = 0;
  there[0].written = [&] { ++told; };
  const std::int64_t before = gpu::waits_of_stand_in();
  const WrittenFile written = write_part(folder + "/there", there, [] {});
  EXPECT_LE(gpu::waits_of_stand_in() - before, bytes_of(there) / tensor::Download::buffer_bytes + 1);
  EXPECT_EQ(written.hash, write_part(folder + "/here", here, [] {}).hash);
  EXPECT_EQ(base::read_file(folder + "/there"), base::read_file(folder + "/here"));
  EXPECT_GE(told, 2500000 * 4 / (1 << 20)) << "at least once for each MiB";
}

TEST(SlicesOfADevice, AreLoadedWithAWaitForEachBufferAtMost) {
  const auto gpus = gpu::stand_in_gpus();
  const std::string folder = testing_support::fresh_folder("loaded_device_slices");
  const std::vector<Slice> saved = slices_on({}, true), loaded = slices_on({*gpus, 0}, false);
  testing_support::run_ranks(1, [&](comm::Channel& world) {
    SaveRequest request;
    request.root = folder;
    request.facts.step = 1;
    request.weights = saved;
    save(request, world);
    tensor::synchronize(loaded.front().data.device());
    const std::int64_t before = gpu::waits_of_stand_in();
    load(*find_newest(folder, world), loaded, world);
    EXPECT_LE(gpu::waits_of_stand_in() - before,
              static_cast<std::int64_t>(saved.size()) + bytes_of(saved) / tensor::Upload::piece_bytes + 1);
  });
  for (std::size_t i = 0; i < saved.size(); ++i) EXPECT_TRUE(tensor::equal(loaded[i].data.cpu(), saved[i].data)) << i;
}

}  // namespace
}  // namespace troika::checkpoint
