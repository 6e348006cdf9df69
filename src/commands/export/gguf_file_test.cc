#include "commands/export/gguf_file.h"

#include <gmock/gmock.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "comm/channel.h"
#include "config/huggingface/model_folder.h"
#include "data/chat_template.h"
#include "gguf/header.h"
#include "gguf/pre_tokenizer.h"
#include "shape/layout.h"
#include "tensor/tensor.h"
#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer_json.h"
#include "weights/adapter_test_support.h"
#include "weights/folder_test_support.h"
#include "weights/folder_writer.h"

namespace troika::commands {
namespace {
using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

class ExportAsGguf : public testing::Test {
 protected:
  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }

  std::string write_model(const std::string& name, const config::ModelSettings& model,
                          const std::string& ids = "") const {
    const std::string path = *this / name;
    base::make_directories(path);
    base::write_file_atomic(path + "/config.json", weights::hugging_face_config(model, "fp32", ids));
    weights::testing_support::write_weights(path + "/model.safetensors",
                                            weights::testing_support::entries_of(model, base::Dtype::fp32));
    return path;
  }
  // A byte-level tokenizer with the pattern of Qwen 2, a mark and a chat template.
  void write_tokenizer(const std::string& folder, const std::string& pattern) const {
    tokenizer::BpeTrainerOptions options;
    options.vocab_size = 300;
    options.min_count = 1;
    tokenizer::BpeModel model = tokenizer::train_bpe({{"hello", 9}, {" hello", 5}, {" world", 7}, {"12", 3}}, options);
    model.patterns = {pattern};
    tokenizer::save_tokenizer(model, folder);
    json config = json::parse(base::read_file(folder + "/tokenizer_config.json"));
    config["eos_token"] = "<|endoftext|>";
    config["chat_template"] = "{{ messages[0].content }}";
    base::write_file_atomic(folder + "/tokenizer_config.json", config.dump());
  }
  // `region` of every tensor of two dimensions or all of each.
  std::vector<float> numbers(weights::ModelSource& source, const shape::ParameterInfo& info,
                             const shape::Region& region) const {
    const tensor::Tensor to = tensor::empty({region.elements()}, tensor::Dtype::fp32);
    source.load(source.model(), {{info.name, info.shape, region, to}}, *self_);
    return {to.data<float>(), to.data<float>() + region.elements()};
  }
  static std::string refusal(const Words& words) {
    try {
      run_export(words);
    } catch (const base::Error& error) {
      return error.what();
    }
    return "";
  }

  const base::TemporaryFolder folder_;
  const std::unique_ptr<comm::Channel> self_ = comm::make_self_channel("self");
};

TEST_F(ExportAsGguf, ComesBackWithEveryBitWhateverTheOrderOfTheFile) {
  for (const char* family : {"llama", "mistral", "qwen2", "qwen3", "gpt2"}) {
    const std::string from = write_model(family, weights::testing_support::tiny_model(family)),
                      to = *this / family + ".gguf";
    ASSERT_EQ(run_export({from, to, "--type", "f32"}), 0);
    const auto folder = weights::open_model(from, *self_), file = weights::open_model(to, *self_);
    for (const auto& info : shape::all_parameters(folder->model())) {
      const std::int64_t all = info.elements();
      EXPECT_EQ(numbers(*folder, info, {0, all, all, 1}), numbers(*file, info, {0, all, all, 1}))
          << family << " " << info.name;
      if (info.shape.size() < 2) continue;
      const shape::Region columns{3, 5, info.shape[1], info.shape[0]},
          inside{info.shape[1] + 1, info.shape[1] + 3, info.shape[1] + 3, 1};
      for (const shape::Region& region : {columns, inside})
        EXPECT_EQ(numbers(*folder, info, region), numbers(*file, info, region)) << family << " " << info.name;
    }
    EXPECT_EQ(config::read_hugging_face_config(to).rope_theta, folder->model().rope_theta);
    EXPECT_EQ(file->model().norm_eps, folder->model().norm_eps);
    EXPECT_EQ(file->model().tie_embeddings, folder->model().tie_embeddings);
  }
}

TEST_F(ExportAsGguf, KeepsTheScalingOfLlama3) {
  config::ModelSettings model = weights::testing_support::tiny_model("llama");
  model.rope_scaling = config::RopeScaling::llama3;
  model.rope_factor = 32;
  model.rope_low_freq_factor = 1;
  model.rope_high_freq_factor = 4;
  model.rope_original_positions = 8192;
  model.rope_theta = 500000;
  model.head_dim = 64;
  ASSERT_EQ(run_export({write_model("m", model), *this / "m.gguf"}), 0);
  const config::ModelSettings read = config::read_hugging_face_config(*this / "m.gguf");
  EXPECT_EQ(read.rope_scaling, config::RopeScaling::llama3);
  EXPECT_EQ(read.rope_factor, 32);
  EXPECT_EQ(weights::open_model(*this / "m.gguf", *self_)->model().head_dim, 64);
}

TEST_F(ExportAsGguf, GivesEachTensorTheTypeThatItsUseNeeds) {
  config::ModelSettings model = weights::testing_support::tiny_model("qwen3");
  model.hidden = 64;
  const std::string from = write_model("m", model);
  ASSERT_EQ(run_export({from, *this / "q.gguf", "--type", "q8_0"}), 0);
  const gguf::File file(*this / "q.gguf");
  const auto type = [&](const char* name) { return std::string(file.header().find_tensor(name)->type->name); };
  EXPECT_EQ(type("token_embd.weight"), "Q8_0");
  EXPECT_EQ(type("blk.1.attn_q.weight"), "Q8_0");
  EXPECT_EQ(type("blk.1.ffn_down.weight"), "F16") << "rows of 20 numbers";
  EXPECT_EQ(type("blk.1.attn_q_norm.weight"), "F32");
  EXPECT_EQ(type("output_norm.weight"), "F32");
  EXPECT_EQ(file.header().whole("general.file_type", -1), 7);
  EXPECT_EQ(file.header().whole("general.quantization_version", -1), 2);
  ASSERT_EQ(run_export({*this / "q.gguf", *this / "again.gguf", "--dtype", "q8_0"}), 0);
  EXPECT_EQ(gguf::File(*this / "again.gguf").header().tensors().size(), file.header().tensors().size());
}

TEST_F(ExportAsGguf, BringsTheTokenizerAndTheChatTemplate) {
  config::ModelSettings model = weights::testing_support::tiny_model("qwen2");
  model.vocab = 310;
  const std::string from = write_model("m", model);
  write_tokenizer(from, gguf::find_pre_tokenizer("qwen2")->patterns[0]);
  ASSERT_EQ(run_export({from, *this / "m.gguf"}), 0);
  const gguf::File file(*this / "m.gguf");
  EXPECT_EQ(file.header().text("tokenizer.ggml.pre"), "qwen2");
  EXPECT_EQ(file.header().texts("tokenizer.ggml.tokens").size(), 310);
  EXPECT_EQ(file.header().texts("tokenizer.ggml.tokens").back(), "[PAD309]");
  const auto before = tokenizer::open_tokenizer(from), after = tokenizer::open_tokenizer(*this / "m.gguf");
  const std::string text = "hello world, 12 hello<|endoftext|> hellö";
  EXPECT_EQ(before->encode(text), after->encode(text));
  EXPECT_EQ(before->end_of_document_id(), after->end_of_document_id());
  const auto chat = data::open_chat_template("auto", *this / "m.gguf", false, "");
  EXPECT_EQ(file.header().text("tokenizer.chat_template"), "{{ messages[0].content }}");
  ASSERT_EQ(run_export({*this / "m.gguf", *this / "back"}), 0);
  EXPECT_EQ(tokenizer::open_tokenizer(*this / "back")->encode(text), before->encode(text));
}

TEST_F(ExportAsGguf, HoldsAnAdapterAloneAsLlamaCppTakesIt) {
  const std::string base = *this / "base";
  config::Settings settings;
  settings.model = weights::testing_support::tiny_llama();
  settings.model.path = base;
  settings.lora = weights::testing_support::tiny_lora();
  settings.lora.rank_pattern = "v_proj:5";
  weights::testing_support::write_model(base, settings.model);
  const auto adapter = weights::testing_support::random_adapter(settings.model, settings.lora);
  weights::testing_support::save_adapter(*this / "run", settings, adapter, *self_);
  ASSERT_EQ(run_export({*this / "run", *this / "a.gguf", "--adapter"}), 0);
  const gguf::File file(*this / "a.gguf");
  EXPECT_EQ(file.header().text("general.type"), "adapter");
  EXPECT_EQ(file.header().text("adapter.type"), "lora");
  EXPECT_EQ(file.header().number("adapter.lora.alpha", 0), 7);
  EXPECT_EQ(file.header().tensors().size(), adapter.size());
  const auto first = [&](const std::string& name, std::int64_t row) {
    const gguf::Tensor& tensor = *file.header().find_tensor(name);
    float number = 0;
    std::memcpy(&number, file.mapping().data() + tensor.begin + row * tensor.shape[1] * 4, 4);
    return number;
  };
  const auto of_run = [&](const std::string& name, int row) {
    return adapter.at("model.layers.1.self_attn." + name + ".weight")[row][0].item<float>();
  };
  EXPECT_EQ(first("blk.1.attn_q.weight.lora_a", 1), of_run("q_proj.lora_A", 1));
  EXPECT_EQ(first("blk.1.attn_q.weight.lora_b", 1), of_run("q_proj.lora_B", 2)) << "halves of a head of 4 become pairs";
  EXPECT_EQ(first("blk.1.attn_v.weight.lora_b", 1), of_run("v_proj.lora_B", 1))
      << "alpha is the same, so llama.cpp scales by its rank";
  ASSERT_EQ(run_export({*this / "run", *this / "whole.gguf"}), 0);
  EXPECT_EQ(gguf::File(*this / "whole.gguf").header().text("general.type"), "model");
  EXPECT_THAT(refusal({base, *this / "b.gguf", "--adapter"}), HasSubstr("--adapter writes an adapter alone"));
}

TEST_F(ExportAsGguf, IsRefusedWhereTheFormatHasNoPlaceForIt) {
  const std::string from = write_model("m", weights::testing_support::tiny_model("qwen2"));
  EXPECT_THAT(refusal({from, *this / "out", "--dtype", "q8_0"}), HasSubstr("--dtype q8_0 is a type of GGUF files"));
  base::write_file_atomic(*this / "there.gguf", "");
  EXPECT_THAT(refusal({from, *this / "there.gguf"}), HasSubstr("already exists; choose a new file"));
  write_tokenizer(from, "[a-z]+| ");
  EXPECT_THAT(refusal({from, *this / "odd.gguf"}),
              HasSubstr("GGUF has no name for the pattern by which this tokenizer cuts text ([a-z]+| )"));
  EXPECT_FALSE(base::file_exists(*this / "odd.gguf"));
}

}  // namespace
}  // namespace troika::commands
