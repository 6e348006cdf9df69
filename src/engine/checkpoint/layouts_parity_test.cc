// A checkpoint saved by one layout loads in any other with equal bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "checkpoint/layouts_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::checkpoint {
using namespace testing_support;

class EveryCut : public testing::TestWithParam<Cut> {};
INSTANTIATE_TEST_SUITE_P(Cuts, EveryCut, testing::Values(Cut::whole, Cut::flat, Cut::columns, Cut::scattered));

static std::vector<std::string> separate_roots(int count) {
  std::vector<std::string> roots;
  for (int i = 0; i < count; ++i) roots.push_back(fresh_folder("host" + std::to_string(i)) + "/checkpoints");
  return roots;
}

TEST_P(EveryCut, SavedOnASharedDiskLoadsInEveryLayout) {
  const std::vector<std::string> root{fresh_folder("run") + "/checkpoints"};
  save_all(root, 4, 10, GetParam(), Cut::flat);
  for (const int size : {1, 2, 3, 5})
    for (const Cut cut : {Cut::whole, Cut::flat, Cut::columns, Cut::scattered}) expect_loads(root, size, cut, 10);
}

TEST_P(EveryCut, SavedOnFourUnsharedDisksLoadsWhereverThePartsLie) {
  const auto roots = separate_roots(4);
  save_all(roots, 4, 10, Cut::flat, GetParam());
  for (const Cut cut : {Cut::whole, Cut::flat, Cut::columns, Cut::scattered}) expect_loads(roots, 4, cut, 10);
}

// Fewer ranks than hosts: the parts of the hosts that left were brought to the others by hand.
TEST_P(EveryCut, LoadsOnFewerHostsOnceAllPartsAreSomewhere) {
  const auto roots = separate_roots(4);
  save_all(roots, 4, 10, GetParam(), GetParam());
  const std::string step = "/step-00000010/";
  for (int from = 2; from < 4; ++from)
    for (const char* kind : {"model", "state"})
      for (const std::string& name : base::list_directory(roots[static_cast<std::size_t>(from)] + step + kind)) {
        const std::string target = roots[static_cast<std::size_t>(from) - 2] + step + kind + "/" + name;
        base::write_file_atomic(target,
                                base::read_file(roots[static_cast<std::size_t>(from)] + step + kind + "/" + name));
      }
  expect_loads({roots[0], roots[1]}, 2, Cut::columns, 10);
  expect_loads({roots[1], roots[0]}, 2, Cut::scattered, 10);
}

TEST(Layouts, TwoRanksPerHostShareItsDisk) {
  const auto roots = separate_roots(2);
  save_all(roots, 4, 10, Cut::whole, Cut::scattered);
  expect_loads(roots, 4, Cut::flat, 10);
  expect_loads({roots[0], roots[1], roots[1]}, 3, Cut::columns, 10);
}

TEST(Layouts, HostWithoutAnythingGetsAllFromTheOthers) {
  const auto roots = separate_roots(1);
  save_all(roots, 2, 10, Cut::whole, Cut::flat);
  const std::string elsewhere = fresh_folder("new host") + "/checkpoints";
  expect_loads({elsewhere, roots[0]}, 2, Cut::columns, 10);
}

// 4 MiB messages: this tensor passes in several, from a strided region into flat ones.
TEST(Layouts, TensorsLargerThanOneMessageArriveWhole) {
  const auto roots = separate_roots(2);
  const std::int64_t rows = 1030, columns = 2500;
  const std::vector<std::int64_t> shape{rows, columns};
  const auto slice = [&](const Region& region) {
    return Slice{"w", shape, region, at::empty({region.elements()}, at::kFloat)};
  };
  run_ranks(2, [&](comm::Channel& world) {
    SaveRequest request;
    request.root = roots[static_cast<std::size_t>(world.rank())];
    const std::int64_t begin = world.rank() == 0 ? 0 : 1000, width = world.rank() == 0 ? 1000 : 1500;
    request.weights = {slice({begin, width, columns, rows})};
    float* data = tensor::theirs(request.weights[0].data).data_ptr<float>();
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t k = 0; k < width; ++k) data[i * width + k] = static_cast<float>(i * columns + begin + k);
    save(request, world);
    const auto found = find_newest(request.root, world);
    ASSERT_TRUE(found.has_value());
    const std::int64_t half = rows / 2 * columns;
    const Slice wanted = slice({world.rank() * half, half, half, 1});
    load(*found, {wanted}, world);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < half; ++i)
      wrong += tensor::theirs(wanted.data).data_ptr<float>()[i] != static_cast<float>(world.rank() * half + i) ? 1 : 0;
    EXPECT_EQ(wrong, 0);
  });
}

static std::int64_t kibibytes_of(const char* word) {
  const std::string status = base::read_file("/proc/self/status"), key = std::string(word) + ":";
  return std::stoll(status.substr(status.find(key) + key.size()));
}

// 64 tensors of 1 MiB, each less than a message: of all that is read, a few MiB at a time are in memory beside what is wanted.
TEST(Layouts, WhatWasReadLeavesTheMemoryAsTheReadingGoesOn) {
  const std::string root = fresh_folder("pages") + "/checkpoints";
  const std::int64_t elements = 1 << 18;
  run_ranks(1, [&](comm::Channel& world) {
    SaveRequest request;
    request.root = root;
    for (int i = 0; i < 64; ++i) {
      request.weights.push_back({fmt::format("w{:02}", i),
                                 {elements},
                                 {0, elements, elements, 1},
                                 at::full({elements}, static_cast<float>(i), at::kFloat)});
    }
    save(request, world);
    const auto found = find_newest(root, world);
    ASSERT_TRUE(found.has_value());
    for (Slice& slice : request.weights) tensor::theirs(slice.data).fill_(-1);
    base::append_file("/proc/self/clear_refs", "5");  // resets the peak
    const std::int64_t before = kibibytes_of("VmRSS");
    load(*found, request.weights, world);
    EXPECT_LT(kibibytes_of("VmHWM") - before, 16 * 1024);
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(tensor::theirs(request.weights[static_cast<std::size_t>(i)].data).min().item<float>(), static_cast<float>(i));
  });
}

// A reader that shares no code with ours: plain streams, no maps, no checks.
static std::vector<float> read_independently(const std::string& path, const std::string& tensor,
                                             std::vector<std::int64_t>* shape) {
  std::ifstream file(path, std::ios::binary);
  unsigned char length[8];
  file.read(reinterpret_cast<char*>(length), 8);
  std::size_t header_bytes = 0;
  for (int i = 0; i < 8; ++i) header_bytes += static_cast<std::size_t>(length[i]) << (8 * i);
  std::string header(header_bytes, ' ');
  file.read(header.data(), static_cast<std::streamsize>(header_bytes));
  const auto entry = nlohmann::json::parse(header)[tensor];
  EXPECT_EQ(entry["dtype"], "F32");
  *shape = entry["shape"].get<std::vector<std::int64_t>>();
  const auto begin = entry["data_offsets"][0].get<std::size_t>(), end = entry["data_offsets"][1].get<std::size_t>();
  std::vector<float> values((end - begin) / 4);
  file.seekg(static_cast<std::streamoff>(8 + header_bytes + begin));
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(end - begin));
  EXPECT_TRUE(file.good());
  return values;
}

TEST(Layouts, ModelFolderIsWhatHuggingFaceExpects) {
  const auto roots = separate_roots(1);
  save_all(roots, 3, 10, Cut::whole, Cut::flat);
  const std::string model = roots[0] + "/step-00000010/model/";
  EXPECT_EQ(
      base::list_directory(model),
      (std::vector<std::string>{"config.json", "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                                "model-00003-of-00003.safetensors", "model.safetensors.index.json"}));
  const auto index = nlohmann::json::parse(base::read_file(model + "model.safetensors.index.json"));
  ASSERT_EQ(index["weight_map"].size(), 5U);
  EXPECT_EQ(index["metadata"]["total_size"], (37 * 12 + 24 * 12 + 12 + 12 * 24 + 1) * 4);
  for (const auto& item : index["weight_map"].items()) {
    std::vector<std::int64_t> shape;
    const auto values = read_independently(model + item.value().get<std::string>(), item.key(), &shape);
    EXPECT_EQ(element_count(shape), static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], value_at(item.key(), static_cast<std::int64_t>(i)));
  }
}

TEST(Layouts, OnlyRanksWithTensorsGetParts) {
  const auto roots = separate_roots(1);
  save_all(roots, 8, 10, Cut::whole, Cut::whole);  // 5 tensors on 8 ranks
  EXPECT_EQ(base::list_directory(roots[0] + "/step-00000010/state").back(), "state-00005-of-00005.safetensors");
  expect_loads(roots, 1, Cut::whole, 10);
}

TEST(Layouts, SavingTwiceGivesTheSameBytes) {
  const auto first = separate_roots(2), second = std::vector<std::string>{fresh_folder("again") + "/checkpoints"};
  save_all(first, 2, 10, Cut::columns, Cut::scattered);
  save_all(second, 2, 10, Cut::columns, Cut::scattered);
  const std::string part = "/step-00000010/state/state-00001-of-00002.safetensors",
                    manifest = "/step-00000010/manifest.json";
  EXPECT_EQ(base::hash_file(first[0] + part), base::hash_file(second[0] + part));
  EXPECT_EQ(base::read_file(first[0] + manifest), base::read_file(second[0] + manifest));
}

}  // namespace troika::checkpoint
