#include "checkpoint/layouts_test_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <thread>

#include "base/file.h"
#include "base/random.h"
#include "base/temporary_folder_test_support.h"
#include "comm/threads_channel_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::checkpoint::testing_support {

namespace {
struct Shape {
  const char* name;
  std::vector<std::int64_t> dims;
};
}  // namespace

static const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{{"model.embed_tokens.weight", {37, 12}},
                                      {"model.layers.0.mlp.up_proj.weight", {24, 12}},
                                      {"model.layers.0.input_layernorm.weight", {12}},
                                      {"model.layers.1.mlp.down_proj.weight", {12, 24}},
                                      {"model.norm.weight", {1}}};
  return all;
}

static std::vector<std::exception_ptr> run_and_catch(int size, const std::function<void(comm::Channel&)>& body) {
  auto channels = comm::make_thread_channels(size, "world", 20);
  std::vector<std::exception_ptr> errors(channels.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < channels.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(*channels[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void run_ranks(int size, const std::function<void(comm::Channel&)>& body) {
  for (const std::exception_ptr& error : run_and_catch(size, body))
    if (error) std::rethrow_exception(error);
}

std::vector<std::string> errors_of_ranks(int size, const std::function<void(comm::Channel&)>& body) {
  std::vector<std::string> texts;
  for (const std::exception_ptr& error : run_and_catch(size, body)) {
    texts.emplace_back();
    try {
      if (error) std::rethrow_exception(error);
    } catch (const std::exception& caught) {
      texts.back() = caught.what();
    }
  }
  return texts;
}

std::string fresh_folder(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string path = base::temporary_folder() + "/" + test->test_suite_name() + "." + test->name() + "/" + name;
  base::remove_tree(path);
  base::make_directories(path);
  return path;
}

float value_at(const std::string& name, std::int64_t index) {
  const std::uint64_t bits = base::Philox(11, name).bits(static_cast<std::uint64_t>(index));
  return static_cast<float>(static_cast<std::int64_t>(bits)) * 1e-10F;
}

static std::vector<Region> cut_flat(std::int64_t numel, std::int64_t rank, std::int64_t size) {
  const std::int64_t begin = numel * rank / size, end = numel * (rank + 1) / size;
  return {{begin, end - begin, end - begin, 1}};
}

static std::vector<Region> regions(Cut cut, std::size_t tensor, const std::vector<std::int64_t>& dims, int rank,
                                   int size) {
  const std::int64_t numel = element_count(dims);
  if (cut == Cut::whole) {
    if (static_cast<int>(tensor) % size != rank) return {};
    return {{0, numel, numel, 1}};
  }
  if (cut == Cut::columns && dims.size() == 2) {
    const Region part = cut_flat(dims[1], rank, size)[0];
    return {{part.offset, part.run, dims[1], dims[0]}};
  }
  if (cut == Cut::scattered) {
    std::vector<Region> all;
    for (std::int64_t begin = rank * 7; begin < numel; begin += 7 * size) {
      const std::int64_t run = std::min<std::int64_t>(7, numel - begin);
      all.push_back({begin, run, run, 1});
    }
    return all;
  }
  return cut_flat(numel, rank, size);
}

template <class Visit>
static void for_each_index(const Region& region, const Visit& visit) {
  std::int64_t position = 0;
  for (std::int64_t i = 0; i < region.count; ++i)
    for (std::int64_t k = 0; k < region.run; ++k) visit(position++, region.offset + i * region.stride + k);
}

std::vector<Slice> empty_slices(Cut cut, const std::string& prefix, int rank, int size) {
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < shapes().size(); ++i)
    for (const Region& region : regions(cut, i, shapes()[i].dims, rank, size))
      slices.push_back({prefix + shapes()[i].name, shapes()[i].dims, region,
                        at::full({region.elements()}, std::numeric_limits<float>::quiet_NaN())});
  return slices;
}

std::vector<Slice> filled_slices(Cut cut, const std::string& prefix, int rank, int size) {
  auto slices = empty_slices(cut, prefix, rank, size);
  for (const Slice& slice : slices)
    for_each_index(slice.region, [&](std::int64_t at, std::int64_t index) {
      tensor::theirs(slice.data).data_ptr<float>()[at] = value_at(slice.name, index);
    });
  return slices;
}

std::int64_t wrong_elements(const std::vector<Slice>& slices) {
  std::int64_t wrong = 0;
  for (const Slice& slice : slices)
    for_each_index(slice.region, [&](std::int64_t at, std::int64_t index) {
      const float expected = value_at(slice.name, index);
      wrong += std::memcmp(tensor::theirs(slice.data).data_ptr<float>() + at, &expected, sizeof expected) != 0 ? 1 : 0;
    });
  return wrong;
}

SaveRequest request_for(const std::string& root, std::int64_t step, Cut weights, Cut state,
                        const comm::Channel& world) {
  SaveRequest request;
  request.root = root;
  request.facts = {step, "seed: 7\n", "{\"model_type\": \"qwen3\"}", {{"tokens_seen", std::to_string(step * 100)}}};
  request.weights = filled_slices(weights, "", world.rank(), world.size());
  request.state = filled_slices(state, "adam_m.", world.rank(), world.size());
  return request;
}

static const std::string& root_of(const std::vector<std::string>& roots, const comm::Channel& world) {
  return roots[static_cast<std::size_t>(world.rank()) % roots.size()];
}

void save_all(const std::vector<std::string>& roots, int size, std::int64_t step, Cut weights, Cut state) {
  run_ranks(size, [&](comm::Channel& world) {
    save(request_for(root_of(roots, world), step, weights, state, world), world);
  });
}

void expect_loads(const std::vector<std::string>& roots, int size, Cut cut, std::int64_t step) {
  run_ranks(size, [&](comm::Channel& world) {
    const auto found = find_newest(root_of(roots, world), world);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->facts.step, step);
    EXPECT_EQ(found->facts.extra.at("tokens_seen"), std::to_string(step * 100));
    auto wanted = empty_slices(cut, "", world.rank(), world.size());
    for (const Slice& slice : empty_slices(cut, "adam_m.", world.rank(), world.size())) wanted.push_back(slice);
    load(*found, wanted, world);
    EXPECT_EQ(wrong_elements(wanted), 0) << "rank " << world.rank() << " of " << world.size();
  });
}

}  // namespace troika::checkpoint::testing_support
