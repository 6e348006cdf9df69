#include "commands/export/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "base/temporary_folder_test_support.h"
#include "checkpoint/safetensors_writer.h"
#include "comm/channel.h"
#include "commands/export/model_folder.h"
#include "shape/layout.h"
#include "weights/folder_writer.h"
#include "weights/weights_folder.h"

namespace troika::commands {
namespace {
using base::Dtype;
using checkpoint::TensorEntry;
using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

config::ModelSettings tiny_gpt2() {
  config::ModelSettings model;
  model.architecture = config::Family::gpt2;
  model.layers = 2;
  model.hidden = 16;
  model.heads = model.kv_heads = 2;
  model.head_dim = 8;
  model.ffn = 24;
  model.vocab = 259;
  model.max_positions = 20;
  model.norm_eps = 1e-5;
  return model;
}

// Random numbers as bit patterns of the dtype: of any size, with NaNs and infinities.
std::string random_bytes(const TensorEntry& entry) {
  const base::Philox random(9, entry.name);
  std::string bytes;
  for (std::int64_t i = 0; i < shape::element_count(entry.shape) * entry.dtype.bytes(); ++i)
    bytes += static_cast<char>(random.bits(static_cast<std::uint64_t>(i)));
  return bytes;
}

// As GPT-2 is published: names without "transformer.", and the attention's mask beside the weights.
std::map<std::string, std::string> write_gpt2(const std::string& folder, Dtype dtype) {
  base::make_directories(folder);
  base::write_file_atomic(folder + "/config.json",
                          weights::hugging_face_config(tiny_gpt2(), "fp32", R"({"eos_token_id": 258})"));
  base::write_file_atomic(folder + "/generation_config.json", R"({"temperature": 0.7})");
  std::vector<TensorEntry> entries{{"h.0.attn.bias", Dtype::uint8, {1, 1, 20, 20}, 0, 0}};
  std::map<std::string, std::string> tensors;
  const std::string prefix = "transformer.";
  for (const auto& info : shape::all_parameters(tiny_gpt2())) {
    entries.push_back({info.name.substr(prefix.size()), dtype, info.shape, 0, 0});
    tensors[info.name] = random_bytes(entries.back());
  }
  checkpoint::SafetensorsWriter writer(folder + "/model.safetensors", entries, {{"format", "pt"}});
  for (const TensorEntry& entry : entries) {
    const std::string bytes = random_bytes(entry);
    writer.write(bytes.data(), static_cast<std::int64_t>(bytes.size()));
  }
  writer.finish();
  return tensors;
}

class ExportVerb : public testing::Test {
 protected:
  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }

  static std::string refusal(const Words& words) {
    try {
      run_export(words);
    } catch (const base::Error& error) {
      return error.what();
    }
    return "";
  }

  const base::TemporaryFolder folder_;
};

TEST_F(ExportVerb, AFolderComesBackWithEveryBitInItsOwnDtype) {
  for (const auto& [dtype, word] : {std::pair{Dtype::fp32, "fp32"}, {Dtype::bf16, "bf16"}, {Dtype::fp16, "fp16"}}) {
    const std::string from = *this / word, to = *this / word + "-out";
    const auto expected = write_gpt2(from, dtype);
    ASSERT_EQ(run_export({from, to + "/", "--max_shard_size", "8KB"}), 0);
    const weights::WeightsFolder folder(to);
    ASSERT_EQ(folder.tensors().size(), expected.size());
    for (const auto& [name, bytes] : expected) {
      const auto& stored = folder.tensors().at(name);
      EXPECT_EQ(stored.dtype, dtype);
      EXPECT_EQ(bytes, std::string(reinterpret_cast<const char*>(stored.at(stored.begin)), bytes.size())) << name;
    }
    EXPECT_TRUE(base::file_exists(to + "/model.safetensors.index.json"));
    EXPECT_EQ(base::read_file(to + "/generation_config.json"), R"({"temperature": 0.7})");
    const auto config = nlohmann::json::parse(base::read_file(to + "/config.json"));
    EXPECT_EQ(config["eos_token_id"], 258);
    EXPECT_EQ(config["torch_dtype"], dtype == Dtype::fp32 ? "float32" : dtype == Dtype::bf16 ? "bfloat16" : "float16");
  }
}

TEST_F(ExportVerb, NumbersTooLargeForFp16AreTold) {
  write_gpt2(*this / "m", Dtype::fp32);
  const auto self = comm::make_self_channel("self");
  const auto source = weights::open_model(*this / "m", *self);
  ExportArguments told;
  told.to = *this / "out";
  told.type = ExportType::fp16;
  told.tokenizer = "bytes";
  const ExportReport report = write_model_folder(*source, told);
  EXPECT_EQ(report.dtype, "fp16");
  EXPECT_EQ(report.bytes, report.parameters * 2);
  ASSERT_EQ(report.notes.size(), static_cast<std::size_t>(report.tensors) + 1);
  EXPECT_THAT(report.notes[0].english, HasSubstr("the model reads bytes"));
  EXPECT_THAT(report.notes[1].english, AllOf(HasSubstr(" of the 48 values of 'transformer.h.0.attn.c_attn.bias'"),
                                     HasSubstr("are too large for fp16 and became infinite")));
}

TEST_F(ExportVerb, TokenizersGoAlong) {
  write_gpt2(*this / "m", Dtype::fp32);
  base::write_file_atomic(*this / "m/vocab.json", "of the model");
  base::make_directories(*this / "tokens");
  base::write_file_atomic(*this / "tokens/tokenizer.json", "of the user");
  ASSERT_EQ(run_export({*this / "m", *this / "own"}), 0);
  EXPECT_EQ(base::read_file(*this / "own/vocab.json"), "of the model");
  ASSERT_EQ(run_export({*this / "m", *this / "given", "--tokenizer", *this / "tokens"}), 0);
  EXPECT_EQ(base::read_file(*this / "given/tokenizer.json"), "of the user");
  EXPECT_FALSE(base::file_exists(*this / "given/vocab.json"));
  EXPECT_EQ(base::read_file(*this / "given/generation_config.json"), R"({"temperature": 0.7})");
}

TEST_F(ExportVerb, WhatCannotBeIsRefusedAndLeavesNothing) {
  write_gpt2(*this / "m", Dtype::fp32);
  const std::string m = *this / "m", out = *this / "out";
  EXPECT_THAT(refusal({m, m}), HasSubstr("already exists; choose a new or empty folder"));
  EXPECT_THAT(refusal({m, m + "/config.json"}), HasSubstr("already exists"));
  EXPECT_THAT(refusal({*this / "nowhere", out}), HasSubstr("there is no model folder, adapter, checkpoint or run"));
  EXPECT_THAT(refusal({m, out, "--dtype", "fp8"}), HasSubstr("--dtype takes auto or fp32 or bf16 or fp16 or q8_0, not 'fp8'"));
  EXPECT_THAT(refusal({m, out, "--dtpe", "fp16"}), HasSubstr("did you mean --dtype?"));
  EXPECT_THAT(refusal({m, out, "more"}), HasSubstr("unexpected argument 'more'"));
  for (const char* size : {"huge", "0", "-1"})
    EXPECT_THAT(refusal({m, out, "--max-shard-size", size}), HasSubstr("--max-shard-size "));
  EXPECT_THAT(refusal({m}), HasSubstr("troika export needs TO; see troika export --help"));
  EXPECT_THAT(refusal({}), HasSubstr("troika export needs FROM"));
  base::make_directories(out + ".partial");
  EXPECT_THAT(refusal({m, out}), HasSubstr("remove it first"));
  base::remove_tree(out + ".partial");
  const std::string whole = base::read_file(m + "/model.safetensors");
  base::write_file_atomic(m + "/model.safetensors", whole.substr(0, whole.size() - 4));
  EXPECT_THAT(refusal({m, out}), HasSubstr("is not a valid safetensors file"));
  base::write_file_atomic(m + "/model.safetensors", whole);
  EXPECT_THAT(refusal({m, out, "--tokenizer", *this / "nowhere"}), HasSubstr("there is no tokenizer"));
  EXPECT_FALSE(base::directory_exists(out) || base::directory_exists(out + ".partial"));
}

}  // namespace
}  // namespace troika::commands
