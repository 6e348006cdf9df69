#include "tensor/device.h"
#include "weights/weights_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/layouts_test_support.h"
#include "tensor/libtorch_test_support.h"
#include "weights/folder_test_support.h"
#include "weights/folder_writer.h"

namespace troika::weights {
namespace {
using namespace checkpoint::testing_support;
using namespace testing_support;

checkpoint::Slice slice_of(const checkpoint::TensorEntry& entry, const shape::Region& region) {
  return {entry.name, entry.shape, region, at::full({region.elements()}, NAN)};
}

std::vector<float> values_of(const checkpoint::TensorEntry& entry) {
  const std::string bytes = bytes_of_tensor(entry);
  std::vector<float> values(static_cast<std::size_t>(shape::element_count(entry.shape)));
  widen(entry.dtype, reinterpret_cast<const std::byte*>(bytes.data()), static_cast<std::int64_t>(values.size()),
        values.data());
  return values;
}

// Compares bits, so that NaNs count.
void expect_values(const checkpoint::Slice& slice, const std::vector<float>& whole) {
  for (std::int64_t i = 0; i < slice.region.elements(); ++i) {
    const std::int64_t from = slice.region.offset + i / slice.region.run * slice.region.stride + i % slice.region.run;
    ASSERT_EQ(std::memcmp(tensor::theirs(slice.data).data_ptr<float>() + i, &whole[static_cast<std::size_t>(from)], 4), 0)
        << slice.name << " " << i;
  }
}

TEST(ReadWeights, AnyRegionOfAnyDtypeHasTheBitsOfTheFile) {
  const std::string folder = fresh_folder("regions");
  const std::int64_t rows = 300, columns = 1001;
  for (const base::Dtype dtype : {base::Dtype::fp32, base::Dtype::bf16, base::Dtype::fp16}) {
    const std::vector<checkpoint::TensorEntry> entries{{"odd", dtype, {7}, 0, 0}, {"w", dtype, {rows, columns}, 0, 0}};
    write_weights(folder + "/model.safetensors", entries);
    const WeightsFolder opened(folder);
    const std::vector<float> odd = values_of(entries[0]), w = values_of(entries[1]);
    const std::vector<checkpoint::Slice> wanted{
        slice_of(entries[0], {0, 7, 7, 1}),
        slice_of(entries[1], {0, rows * columns, rows * columns, 1}),
        slice_of(entries[1], {500, 12345, 12345, 1}),       // flat, as with sharded state
        slice_of(entries[1], {400, 200, columns, rows}),    // columns
        slice_of(entries[1], {100, 1, columns, rows - 1}),  // a single column
        slice_of(entries[1], {10, columns, columns, 5}),    // rows
        slice_of(entries[1], {3, 0, 0, 1})};                // nothing
    std::int64_t elements = 0;
    for (const checkpoint::Slice& slice : wanted) elements += slice.region.elements();
    EXPECT_EQ(read_weights(opened.tensors(), wanted), elements * base::bytes_of(dtype));
    expect_values(wanted[0], odd);
    for (std::size_t i = 1; i < wanted.size() - 1; ++i) expect_values(wanted[i], w);
  }
}

// A slice of halves has the stored bits where the file has its dtype, else those of fp32, rounded once.
TEST(ReadWeights, FillsHalvesOfAnyStoredDtype) {
  const std::string folder = fresh_folder("halves");
  const std::int64_t rows = 90, columns = 777;
  for (const base::Dtype stored : {base::Dtype::fp32, base::Dtype::bf16, base::Dtype::fp16}) {
    const std::vector<checkpoint::TensorEntry> entries{{"w", stored, {rows, columns}, 0, 0}};
    write_weights(folder + "/model.safetensors", entries);
    const WeightsFolder opened(folder);
    for (const base::Dtype dtype : {base::Dtype::bf16, base::Dtype::fp16}) {
      for (const shape::Region& region : {shape::Region{0, rows * columns, rows * columns, 1}, shape::Region{400, 200, columns, rows}}) {
        const checkpoint::Slice exact = slice_of(entries[0], region);
        checkpoint::Slice half = exact;
        half.data = tensor::empty({region.elements()}, dtype);
        read_weights(opened.tensors(), {exact, half});
        std::vector<std::uint16_t> want(static_cast<std::size_t>(region.elements()));
        narrow(exact.data.data<float>(), region.elements(), dtype, reinterpret_cast<std::byte*>(want.data()));
        EXPECT_EQ(std::memcmp(half.data.data(), want.data(), 2 * want.size()), 0);
      }
    }
  }
}

TEST(ReadWeights, ThreadsChangeNothing) {
  const std::string folder = fresh_folder("threads");
  const std::vector<checkpoint::TensorEntry> entries{{"w", base::Dtype::bf16, {700, 999}, 0, 0}};
  write_weights(folder + "/model.safetensors", entries);
  const int before = tensor::threads();
  for (const int threads : {1, 2, 3}) {
    tensor::set_threads(threads);
    const checkpoint::Slice slice = slice_of(entries[0], {5, 990, 999, 700});
    read_weights(WeightsFolder(folder).tensors(), {slice});
    expect_values(slice, values_of(entries[0]));
  }
  tensor::set_threads(before);
}

TEST(ReadWeights, WhatDoesNotFitIsRefused) {
  const std::string folder = fresh_folder("refused");
  const checkpoint::TensorEntry entry{"w", base::Dtype::fp32, {4, 3}, 0, 0};
  write_weights(folder + "/model.safetensors", {entry});
  const WeightsFolder opened(folder);
  EXPECT_THROW(read_weights(opened.tensors(), {slice_of({"v", base::Dtype::fp32, {4, 3}, 0, 0}, {0, 12, 12, 1})}),
               base::DataError);
  EXPECT_THROW(read_weights(opened.tensors(), {slice_of({"w", base::Dtype::fp32, {12}, 0, 0}, {0, 12, 12, 1})}),
               base::DataError);
  EXPECT_THROW(read_weights(opened.tensors(), {slice_of(entry, {1, 12, 12, 1})}), base::BugError);
}

std::int64_t resident_kib() {
  const std::string status = base::read_file("/proc/self/status");
  return std::stoll(status.substr(status.find("VmRSS:") + 6));
}

// 96 MiB of bf16: the memory grows by what is wanted, not by the file.
TEST(ReadWeights, WhatWasReadLeavesTheMemoryAgain) {
  const std::string folder = fresh_folder("memory");
  const std::int64_t rows = 6144, columns = 8192;
  checkpoint::SafetensorsWriter writer(folder + "/model.safetensors",
                                       {{"w", base::Dtype::bf16, {rows, columns}, 0, 0}}, {});
  const std::string row(static_cast<std::size_t>(columns * 2), '\1');
  for (std::int64_t i = 0; i < rows; ++i) writer.write(row.data(), columns * 2);
  writer.finish();
  const WeightsFolder opened(folder);
  const checkpoint::TensorEntry entry{"w", base::Dtype::bf16, {rows, columns}, 0, 0};
  const std::vector<checkpoint::Slice> columns_only{slice_of(entry, {0, 64, columns, rows})},
      whole{slice_of(entry, {0, rows * columns, rows * columns, 1})};
  const auto grown = [&](const std::vector<checkpoint::Slice>& wanted) {
    const std::int64_t before = resident_kib();
    read_weights(opened.tensors(), wanted);
    return resident_kib() - before;
  };
  EXPECT_LT(grown(columns_only), 8 * 1024);
  EXPECT_LT(grown(whole), 8 * 1024);
  EXPECT_EQ(read_weights(opened.tensors(), columns_only), 64 * rows * 2);
}

TEST(FolderWriter, CutsFilesBetweenTensorsAndWritesAnIndex) {
  const auto entries = entries_of(tiny_model("qwen3"), base::Dtype::fp16);
  for (const std::int64_t most : {std::int64_t{1} << 40, std::int64_t{1000}, std::int64_t{1}}) {
    const std::string folder = fresh_folder("written" + std::to_string(most));
    FolderWriter writer(folder, entries, most);
    for (const checkpoint::TensorEntry& entry : entries) {
      const std::string bytes = bytes_of_tensor(entry);
      writer.write(bytes.data(), 7);
      writer.write(bytes.data() + 7, static_cast<std::int64_t>(bytes.size()) - 7);
    }
    const auto names = writer.finish();
    EXPECT_EQ(names.size(), base::list_directory(folder).size());
    EXPECT_EQ(base::file_exists(folder + "/model.safetensors"), most > 1000);
    EXPECT_EQ(names.size() == entries.size() + 1, most == 1) << names.size();
    const WeightsFolder opened(folder);
    ASSERT_EQ(opened.tensors().size(), entries.size());
    for (const checkpoint::TensorEntry& entry : entries) {
      const StoredTensor& stored = opened.tensors().at(entry.name);
      EXPECT_EQ(checkpoint::SafetensorsFile(stored.path).header().metadata.at("format"), "pt");
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(stored.at(stored.begin)),
                            static_cast<std::size_t>(stored.bytes)),
                bytes_of_tensor(entry));
    }
    static const std::string first = opened.fingerprint();
    EXPECT_EQ(opened.fingerprint(), first) << "how tensors are cut into files does not matter";
  }
}

TEST(WeightsFolder, FingerprintsTellWeightsApart) {
  const std::string folder = fresh_folder("prints");
  const std::vector<checkpoint::TensorEntry> entries{{"a", base::Dtype::fp32, {100}, 0, 0}};
  write_weights(folder + "/model.safetensors", entries);
  const std::string before = WeightsFolder(folder).fingerprint();
  std::string content = base::read_file(folder + "/model.safetensors");
  content[content.size() - 200] = static_cast<char>(content[content.size() - 200] ^ 1);  // the middle one
  base::write_file_atomic(folder + "/model.safetensors", content);
  EXPECT_NE(WeightsFolder(folder).fingerprint(), before);
}

}  // namespace
}  // namespace troika::weights
