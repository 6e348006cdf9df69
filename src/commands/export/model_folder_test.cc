#include "base/say.h"
#include "commands/export/model_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "comm/channel.h"
#include "commands/export/export.h"
#include "tensor/libtorch_test_support.h"
#include "weights/adapter_test_support.h"
#include "weights/weights_folder.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using Words = std::vector<std::string>;
using namespace weights::testing_support;

class ExportOfAdapters : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"})
      base::write_file_atomic(*this / "m/" + name, std::string("{\"of\": \"") + name + "\"}");
    settings_.model = tiny_llama();
    settings_.model.path = *this / "m";
    settings_.lora = tiny_lora();
    adapter_ = random_adapter(settings_.model, settings_.lora);
    save_adapter(*this / "run", settings_, adapter_, *self_,
                 {{"tokenizer", *this / "m"}, {"weights_from", *this / "m"}, {"weights_dtype", "bf16"}});
  }

  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }
  Tensors loaded(const std::string& path) const { return load_all(*weights::open_model(path, *self_)); }
  static std::string refusal(const Words& words) {
    try {
      run_export(words);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  }

  const base::TemporaryFolder folder_;
  const std::unique_ptr<comm::Channel> self_ = comm::make_self_channel("self");
  const Tensors weights_ = write_model(*this / "m", tiny_llama());
  config::Settings settings_;
  Tensors adapter_;
};

ExportArguments to(const std::string& folder) {
  ExportArguments a;
  a.to = folder;
  return a;
}

void expect_equal(const Tensors& got, const Tensors& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(at::equal(got.at(name), tensor)) << name;
}

TEST_F(ExportOfAdapters, AreFoldersThatPeftReads) {
  ASSERT_EQ(run_export({*this / "run", *this / "a"}), 0);
  EXPECT_THAT(base::list_directory(*this / "a"),
              IsSupersetOf({"adapter_config.json", "adapter_model.safetensors", "chat_template.jinja",
                            "generation_config.json", "tokenizer.json", "tokenizer_config.json"}));
  EXPECT_EQ(base::read_file(*this / "a/chat_template.jinja"), base::read_file(*this / "m/chat_template.jinja"));
  const auto config = nlohmann::json::parse(base::read_file(*this / "a/adapter_config.json"));
  EXPECT_EQ(config["peft_type"], "LORA");
  EXPECT_EQ(config["task_type"], "CAUSAL_LM");
  EXPECT_EQ(config["base_model_name_or_path"], *this / "m");
  EXPECT_EQ(config["r"], 3);
  EXPECT_EQ(config["lora_alpha"], 7);
  EXPECT_EQ(config["target_modules"], nlohmann::json({"q_proj", "v_proj", "down_proj"}));
  EXPECT_EQ(config["bias"], "none");
  EXPECT_EQ(config["inference_mode"], true);
  const checkpoint::SafetensorsFile file(*this / "a/adapter_model.safetensors");
  EXPECT_EQ(file.header().entries.size(), 12u);
  EXPECT_EQ(file.header().entries[0].name, "base_model.model.model.layers.0.mlp.down_proj.lora_A.weight");
  EXPECT_EQ(file.header().metadata.at("format"), "pt");
}

TEST_F(ExportOfAdapters, ComeBackWithEveryBit) {
  ASSERT_EQ(run_export({*this / "run", *this / "a"}), 0);
  ASSERT_EQ(run_export({*this / "a", *this / "b"}), 0);
  for (const std::string& name : base::list_directory(*this / "a"))
    EXPECT_EQ(base::read_file(*this / "a/" + name), base::read_file(*this / "b/" + name)) << name;
  expect_equal(loaded(*this / "a"), loaded(*this / "run"));
  ASSERT_EQ(run_export({*this / "a", *this / "halves", "--dtype", "bf16"}), 0);
  expect_equal(loaded(*this / "halves"), loaded(*this / "run"));  // whose numbers bf16 holds
  ASSERT_EQ(run_export({*this / "a", *this / "named", "--base", "Some/Model"}), 0);
  EXPECT_THAT(base::read_file(*this / "named/adapter_config.json"), HasSubstr("\"Some/Model\""));
}

TEST_F(ExportOfAdapters, AreWholeModelsWithMerge) {
  ASSERT_EQ(run_export({*this / "run", *this / "whole", "--merge", "--dtype", "fp32"}), 0);
  expect_equal(loaded(*this / "whole"), loaded(*this / "run"));
  EXPECT_FALSE(base::file_exists(*this / "whole/adapter_config.json"));
  ASSERT_EQ(run_export({*this / "run", *this / "halves", "--merge"}), 0);
  const weights::WeightsFolder halves(*this / "halves");
  for (const auto& [name, tensor] : halves.tensors()) EXPECT_EQ(tensor.dtype, base::Dtype::bf16) << name;
  EXPECT_EQ(base::read_file(*this / "halves/chat_template.jinja"), base::read_file(*this / "m/chat_template.jinja"));
  EXPECT_EQ(refusal({*this / "run", *this / "other", "--merge", "--base", *this / "m"}), "");
}

TEST_F(ExportOfAdapters, BringTheTemplateThatTheRunWasToldToUse) {
  settings_.data.chat_template = "alpaca";
  save_adapter(*this / "run", settings_, adapter_, *self_, {{"tokenizer", *this / "m"}});
  for (const Words& more : {Words{}, Words{"--merge"}}) {
    const std::string out = *this / ("out" + std::to_string(more.size()));
    Words words{*this / "run", out};
    words.insert(words.end(), more.begin(), more.end());
    ASSERT_EQ(run_export(words), 0);
    EXPECT_THAT(base::read_file(out + "/chat_template.jinja"), HasSubstr("### Instruction:"));
  }
  settings_.data.chat_template = "chatml";
  save_adapter(*this / "run", settings_, adapter_, *self_, {{"tokenizer", *this / "m"}});
  const auto source = weights::open_adapter(*this / "run", *self_);
  EXPECT_THAT(base::in(write_adapter_folder(*source, to(*this / "told")).notes, base::Language::english), ElementsAre(HasSubstr("end with <|im_end|>")));
  base::write_file_atomic(*this / "m/tokenizer_config.json", R"({"eos_token": {"content": "<|im_end|>"}})");
  EXPECT_THAT(base::in(write_adapter_folder(*source, to(*this / "quiet")).notes, base::Language::english), ElementsAre());
}

TEST_F(ExportOfAdapters, OnABaseThatOnlyTroikaLoadsSaySo) {
  settings_.model.path = *this / "run";
  save_adapter(*this / "further", settings_, adapter_, *self_, {{"tokenizer", *this / "m"}});
  const auto source = weights::open_adapter(*this / "further", *self_);
  const auto about_base = [](const std::string& base) {
    return AllOf(HasSubstr("the base of this adapter is '" + base + "'"), HasSubstr("which PEFT cannot load"),
                 HasSubstr("--merge"), HasSubstr("--base FOLDER"));
  };
  EXPECT_THAT(base::in(write_adapter_folder(*source, to(*this / "a")).notes, base::Language::english), ElementsAre(about_base(*this / "run")));
  ExportArguments named = to(*this / "b");
  named.base = *this / "a";
  EXPECT_THAT(base::in(write_adapter_folder(*source, named).notes, base::Language::english), ElementsAre(about_base(*this / "a")));
  named = to(*this / "c");
  named.base = *this / "m";
  EXPECT_THAT(base::in(write_adapter_folder(*source, named).notes, base::Language::english), ElementsAre());
}

TEST_F(ExportOfAdapters, KeepRanksAndScalesOfTheirOwn) {
  settings_.lora.rslora = true;
  settings_.lora.rank_pattern = "v_proj:5,layers.1.q_proj:2";
  settings_.lora.alpha_pattern = "down_proj:1.5";
  save_adapter(*this / "run", settings_, random_adapter(settings_.model, settings_.lora), *self_,
               {{"tokenizer", *this / "m"}});
  ASSERT_EQ(run_export({*this / "run", *this / "a"}), 0);
  const auto config = nlohmann::json::parse(base::read_file(*this / "a/adapter_config.json"));
  EXPECT_EQ(config["use_rslora"], true);
  EXPECT_EQ(config["rank_pattern"], nlohmann::json({{"v_proj", 5}, {"layers.1.self_attn.q_proj", 2}}));
  EXPECT_EQ(config["alpha_pattern"], nlohmann::json({{"down_proj", 1.5}}));
  expect_equal(loaded(*this / "a"), loaded(*this / "run"));
}

TEST_F(ExportOfAdapters, OfFewerLayersThanTheBaseAreRefusedWithoutMerge) {
  settings_.model.layers -= 1;
  save_adapter(*this / "short", settings_, random_adapter(settings_.model, settings_.lora), *self_);
  EXPECT_THAT(refusal({*this / "short", *this / "a"}), HasSubstr("write the whole model with --merge"));
  EXPECT_EQ(refusal({*this / "short", *this / "whole", "--merge"}), "");
}

TEST_F(ExportOfAdapters, AreRefusedWhereThereIsNone) {
  EXPECT_THAT(refusal({*this / "m", *this / "out", "--merge"}),
              HasSubstr("is a whole model without an adapter; leave --merge out"));
  EXPECT_THAT(refusal({*this / "m", *this / "out", "--base", *this / "m"}), HasSubstr("leave --base out"));
  base::remove_tree(*this / "m");
  EXPECT_EQ(refusal({*this / "run", *this / "a"}), "");
  EXPECT_THAT(refusal({*this / "run", *this / "out", "--merge"}),
              HasSubstr("give that model's folder with --base PATH"));
  EXPECT_FALSE(base::directory_exists(*this / "out") || base::directory_exists(*this / "out.partial"));
}

}  // namespace
}  // namespace troika::commands
