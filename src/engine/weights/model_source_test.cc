#include "base/say.h"
#include "weights/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "checkpoint/safetensors_writer.h"
#include "comm/channel.h"
#include "config/config.h"
#include "shape/layout.h"
#include "tensor/libtorch_test_support.h"
#include "weights/adapter_test_support.h"
#include "weights/checkpoint_source.h"
#include "weights/weights_read.h"
#include "weights/folder_writer.h"

namespace troika::weights {
namespace {
using base::Dtype;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::errors_of_ranks;

config::ModelSettings tiny_qwen3() {
  config::ModelSettings model;
  model.layers = 2;
  model.hidden = 8;
  model.heads = 2;
  model.kv_heads = 1;
  model.head_dim = 4;
  model.ffn = 12;
  model.vocab = 19;
  model.max_positions = 16;
  return model;
}

// Every number of tensor i is i + `first`.
void write_folder(const std::string& path, const config::ModelSettings& model, Dtype dtype, float first = 1) {
  base::make_directories(path);
  base::write_file_atomic(path + "/config.json", hugging_face_config(model, "fp32", R"({"eos_token_id": [3, 4]})"));
  std::vector<checkpoint::TensorEntry> entries;
  for (const auto& info : shape::all_parameters(model)) entries.push_back({info.name, dtype, info.shape, 0, 0});
  checkpoint::SafetensorsWriter writer(path + "/model.safetensors", entries, {});
  for (const auto& info : shape::all_parameters(model)) {
    const std::vector<float> values(static_cast<std::size_t>(info.elements()), first);
    std::vector<std::byte> bytes(values.size() * 4);
    narrow(values.data(), info.elements(), dtype, bytes.data());
    writer.write(bytes.data(), info.elements() * base::bytes_of(dtype));
    first += 1;
  }
  writer.finish();
}

std::vector<checkpoint::Slice> all_of(const config::ModelSettings& model) {
  std::vector<checkpoint::Slice> wanted;
  for (const auto& info : shape::all_parameters(model)) {
    const std::int64_t count = info.elements();
    wanted.push_back({info.name, info.shape, {0, count, count, 1}, at::full({count}, NAN)});
  }
  return wanted;
}

class Source : public testing::Test {
 protected:
  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }

  std::string refusal(const std::string& path) const {
    const auto self = comm::make_self_channel("self");
    try {
      open_model(path, *self);
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "";
  }

  const base::TemporaryFolder folder_;
};

TEST_F(Source, AFolderTellsItsModelAndFillsWhatIsWanted) {
  write_folder(*this / "m", tiny_qwen3(), Dtype::bf16);
  base::write_file_atomic(*this / "m/tokenizer.json", "{}");
  base::write_file_atomic(*this / "m/notes.txt", "not for others");
  const auto self = comm::make_self_channel("self");
  const auto source = open_model(*this / "m", *self);
  EXPECT_EQ(source->model().hidden, 8);
  EXPECT_EQ(source->model().path, *this / "m");
  EXPECT_EQ(source->tokenizer(), *this / "m");
  EXPECT_THAT(source->auxiliary_files(), ElementsAre(*this / "m/tokenizer.json"));
  EXPECT_EQ(source->dtype(), "bf16");
  EXPECT_EQ(source->facts().at(weights_from_fact), *this / "m");
  const auto wanted = all_of(source->model());
  source->load(source->model(), wanted, *self);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(at::equal(wanted[i].data, at::full_like(wanted[i].data, static_cast<double>(i + 1)))) << wanted[i].name;
  EXPECT_EQ(source->bytes_read(), shape::parameter_count(source->model()) * 2);
  EXPECT_EQ(source->bytes(), source->bytes_read());
}

TEST_F(Source, AModelOfFewerLayersTakesTheFirstOnes) {
  write_folder(*this / "m", tiny_qwen3(), Dtype::fp16);
  config::ModelSettings first = tiny_qwen3();
  first.layers = 1;
  const auto self = comm::make_self_channel("self");
  const auto source = open_model(*this / "m", *self);
  source->check(first);
  const auto wanted = all_of(first);
  source->load(first, wanted, *self);
  // model.norm.weight, the last of the folder's tensors
  EXPECT_FLOAT_EQ(tensor::theirs(wanted.back().data).max().item<float>(), 24);
  EXPECT_LT(source->bytes_read(), source->bytes());
  config::ModelSettings wider = tiny_qwen3();
  wider.ffn = 13;
  EXPECT_THROW(source->check(wider), base::DataError);
}

TEST_F(Source, MixedDtypesAreHeldByFp32) {
  write_folder(*this / "m", tiny_qwen3(), Dtype::fp16);
  const std::string path = *this / "m/model.safetensors";
  std::vector<checkpoint::TensorEntry> entries;
  for (const auto& info : shape::all_parameters(tiny_qwen3()))
    entries.push_back({info.name, entries.empty() ? Dtype::bf16 : Dtype::fp16, info.shape, 0, 0});
  checkpoint::SafetensorsWriter writer(path, entries, {});
  const std::vector<char> zeros(static_cast<std::size_t>(shape::parameter_count(tiny_qwen3()) * 2));
  writer.write(zeros.data(), static_cast<std::int64_t>(zeros.size()));
  writer.finish();
  const auto self = comm::make_self_channel("self");
  EXPECT_EQ(open_model(*this / "m", *self)->dtype(), "fp32");
}

TEST_F(Source, WhatIsNoModelIsRefusedByName) {
  EXPECT_THAT(refusal(*this / "none"),
              HasSubstr("there is no model folder, adapter, checkpoint or run '" + *this / "none'"));
  base::make_directories(*this / "empty");
  EXPECT_THAT(refusal(*this / "empty"), HasSubstr("no complete checkpoint in '" + *this / "empty'"));
  write_folder(*this / "m", tiny_qwen3(), Dtype::fp32);
  EXPECT_THAT(refusal(*this / "m/config.json"), HasSubstr("is a file; give the folder with config.json"));
  base::rename_path(*this / "m/model.safetensors", *this / "kept");
  EXPECT_THAT(refusal(*this / "m"), HasSubstr("has neither model.safetensors"));
  base::rename_path(*this / "kept", *this / "m/model.safetensors");
  config::ModelSettings other = tiny_qwen3();
  other.hidden = 12;
  base::write_file_atomic(*this / "m/config.json", hugging_face_config(other, "fp32", ""));
  EXPECT_THAT(refusal(*this / "m"),
              AllOf(HasSubstr("do not match its config.json"),
                    HasSubstr("shape: model.embed_tokens.weight is [19, 8] and should be [19, 12]")));
  base::remove_tree(*this / "m/config.json");
  EXPECT_THAT(refusal(*this / "m"), HasSubstr("has weights but no config.json"));
}

TEST_F(Source, AHeadBesideATiedTableIsTheSameOrRefused) {
  write_folder(*this / "m", tiny_qwen3(), Dtype::bf16);
  const std::string path = *this / "m/model.safetensors";
  const std::vector<char> same = [&] {
    const checkpoint::SafetensorsFile file(path);
    const auto& table = file.header().entries.front();
    EXPECT_EQ(table.name, "model.embed_tokens.weight");
    const auto* begin = reinterpret_cast<const char*>(file.at(table.begin));
    return std::vector<char>(begin, begin + table.bytes);
  }();
  const auto write_head = [&](const std::vector<std::int64_t>& shape, const std::vector<char>& bytes) {
    checkpoint::SafetensorsWriter writer(*this / "m/head.safetensors", {{"lm_head.weight", Dtype::bf16, shape, 0, 0}},
                                         {});
    writer.write(bytes.data(), static_cast<std::int64_t>(bytes.size()));
    writer.finish();
    base::rename_path(path, *this / "m/rest.safetensors");
    nlohmann::json index;
    for (const auto& info : shape::all_parameters(tiny_qwen3())) index["weight_map"][info.name] = "rest.safetensors";
    index["weight_map"]["lm_head.weight"] = "head.safetensors";
    base::write_file_atomic(*this / "m/model.safetensors.index.json", index.dump());
    const std::string text = refusal(*this / "m");
    base::rename_path(*this / "m/rest.safetensors", path);
    return text;
  };
  EXPECT_EQ(write_head({19, 8}, same), "");
  std::vector<char> other = same;
  other.back() = static_cast<char>(other.back() ^ 1);
  const auto refused = AllOf(HasSubstr("have 'lm_head.weight' with different values than 'model.embed_tokens.weight'"),
                             HasSubstr("set that to false"));
  EXPECT_THAT(write_head({19, 8}, other), refused);
  other.resize(static_cast<std::size_t>(18 * 8 * 2));
  EXPECT_THAT(write_head({18, 8}, other), refused);
}

TEST_F(Source, WhatIsTakenOtherwiseThanItMayBeMeantIsNoted) {
  write_folder(*this / "m", tiny_qwen3(), Dtype::bf16);
  const auto self = comm::make_self_channel("self");
  EXPECT_THAT(base::in(open_model(*this / "m", *self)->notes(), base::Language::english), ElementsAre());
  auto config = nlohmann::json::parse(base::read_file(*this / "m/config.json"));
  config["rope_theta"] = 10000.0;
  config.erase("rope_scaling");
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 500000}};
  base::write_file_atomic(*this / "m/config.json", config.dump());
  const std::string index = *this / "m/model.safetensors.index.json";
  base::write_file_atomic(index, R"({"weight_map": {"model.norm.weight": "model-00001-of-00002.safetensors"}})");
  EXPECT_THAT(
      base::in(open_model(*this / "m", *self)->notes(), base::Language::english),
      ElementsAre(AllOf(HasSubstr("rope_theta is 10000.0 at the top"), HasSubstr("500000 in its rope_parameters")),
                  AllOf(HasSubstr("model-00001-of-00002.safetensors"),
                        HasSubstr("the weights in model.safetensors are used"))));
  EXPECT_EQ(open_model(*this / "m", *self)->model().rope_theta, 500000);
  base::write_file_atomic(index, R"({"weight_map": {"model.norm.weight": "model.safetensors"}})");
  EXPECT_EQ(open_model(*this / "m", *self)->notes().size(), 1u);
}

TEST_F(Source, HostsWithUnlikeCopiesAreToldByRank) {
  write_folder(*this / "a", tiny_qwen3(), Dtype::fp32);
  write_folder(*this / "b", tiny_qwen3(), Dtype::fp32, 2);
  const auto open = [this](const std::string& elsewhere) {
    return errors_of_ranks(
        3, [&](comm::Channel& world) { open_model(world.rank() == 2 ? *this / elsewhere : *this / "a", world); });
  };
  EXPECT_THAT(open("b"), Each(AllOf(HasSubstr("on rank 2's host"), HasSubstr("copy one folder to all hosts"))));
  EXPECT_THAT(open("none"), Each(AllOf(HasSubstr("there is no model folder"), HasSubstr("on rank 2's host"))));
  EXPECT_THAT(open("a"), Each(""));
}

TEST_F(Source, ACheckpointOnSeveralHostsIsASourceForAllOfThem) {
  config::Settings settings;
  settings.model = tiny_qwen3();
  const auto host = [this](const comm::Channel& world) { return *this / ("host" + std::to_string(world.rank())); };
  const auto save = [&](comm::Channel& world) {
    checkpoint::SaveRequest request;
    request.root = host(world) + "/run/checkpoints";
    request.facts = {7,
                     config::to_yaml(settings),
                     hugging_face_config(settings.model, "fp32", R"({"eos_token_id": 5})"),
                     {{"tokenizer", "bytes"}, {weights_dtype_fact, "bf16"}}};
    for (checkpoint::Slice& slice : all_of(settings.model)) {
      tensor::theirs(slice.data).fill_(1.0 / 3);
      const std::int64_t half = tensor::theirs(slice.data).numel() / 2, begin = world.rank() == 0 ? 0 : half;
      const std::int64_t count = world.rank() == 0 ? half : tensor::theirs(slice.data).numel() - half;
      if (count == 0) continue;
      slice.region = {begin, count, count, 1};
      slice.data = slice.data.narrow(0, begin, count);
      request.weights.push_back(slice);
    }
    checkpoint::save(request, world);
  };
  EXPECT_THAT(errors_of_ranks(2, save), Each(""));
  EXPECT_TRUE(base::file_exists(*this / "host1/run/checkpoints/step-00000007/model/config.json"));
  const auto load = [&](comm::Channel& world) {
    const auto source = open_model(host(world) + "/run", world);
    EXPECT_EQ(source->dtype(), "bf16");
    EXPECT_EQ(source->tokenizer(), "bytes");
    EXPECT_THAT(source->auxiliary_files(), ElementsAre());
    EXPECT_THAT(source->config_json(), HasSubstr("\"eos_token_id\": 5"));
    const auto wanted = all_of(source->model());
    source->load(source->model(), wanted, world);
    for (const auto& slice : wanted)
      EXPECT_TRUE(at::equal(slice.data, at::full_like(slice.data, 1.0 / 3))) << slice.name;
    EXPECT_EQ(source->bytes_read(), source->bytes());
    config::ModelSettings wider = source->model();
    wider.ffn = 13;
    EXPECT_THROW(source->check(wider), base::DataError);
  };
  EXPECT_THAT(errors_of_ranks(2, load), Each(""));
  EXPECT_THAT(refusal(*this / "host0/run"), HasSubstr("is missing; it was written on"));
}

TEST(PublishedConfig, KeepsTheSourcesTokenIdsAndNamesTheDtype) {
  const std::string source = R"({"eos_token_id": [1, 2], "bos_token_id": null, "pad_token_id": "x", "vocab_size": 99})";
  const auto config = nlohmann::json::parse(hugging_face_config(tiny_qwen3(), "bf16", source));
  EXPECT_EQ(config["eos_token_id"], nlohmann::json::parse("[1, 2]"));
  EXPECT_FALSE(config.contains("pad_token_id"));
  EXPECT_EQ(config["torch_dtype"], "bfloat16");
  EXPECT_EQ(config["vocab_size"], 19);
  EXPECT_EQ(nlohmann::json::parse(hugging_face_generation_config(source))["eos_token_id"], config["eos_token_id"]);
  EXPECT_EQ(nlohmann::json::parse(hugging_face_config(tiny_qwen3(), "fp16", ""))["torch_dtype"], "float16");
  EXPECT_THROW(hugging_face_config(tiny_qwen3(), "fp32", "{"), base::DataError);
}

}  // namespace
}  // namespace troika::weights
