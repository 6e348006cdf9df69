#include "base/say.h"
#include "weights/adapter_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "comm/channel.h"
#include "config/huggingface/peft_config.h"
#include "config/lora.h"
#include "tensor/libtorch_test_support.h"
#include "weights/adapter_test_support.h"

namespace troika::weights {
namespace {
using base::Dtype;
using nlohmann::json;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace testing_support;

Tensors load_adapter(AdapterSource& source, comm::Channel& world) {
  std::vector<checkpoint::Slice> wanted;
  for (const auto& info : source.parameters())
    wanted.push_back(
        {info.name, info.shape, {0, info.elements(), info.elements(), 1}, at::full({info.elements()}, NAN)});
  source.load(wanted, world);
  Tensors tensors;
  for (const auto& slice : wanted) tensors[slice.name] = slice.data.view(slice.shape);
  return tensors;
}

void expect_equal(const Tensors& got, const Tensors& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(at::equal(got.at(name), tensor)) << name;
}

class Adapter : public testing::Test {
 protected:
  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }

  std::unique_ptr<AdapterSource> open(const std::string& path) const { return open_adapter(path, *self_); }

  std::string refusal(const std::string& path) const {
    try {
      const auto source = open(path);
      source->check(model_, source->lora());
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "";
  }

  // The refusal of a PEFT folder whose configuration has these members.
  std::string refusal(const json& changes) const {
    write_peft(*this / "a", peft_config(lora_, "m", changes), adapter_);
    return refusal(*this / "a");
  }

  const config::ModelSettings model_ = tiny_llama();
  const config::LoraSettings lora_ = tiny_lora();
  const Tensors adapter_ = random_adapter(model_, lora_);
  const base::TemporaryFolder folder_;
  const std::unique_ptr<comm::Channel> self_ = comm::make_self_channel("self");
};

TEST_F(Adapter, APeftFolderTellsItsAdapterAndFillsWhatIsWanted) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    for (const char* ending : {"", ".default"}) {
      write_peft(*this / "a", peft_config(lora_, "some/base"), adapter_, dtype, ending);
      const auto source = open(*this / "a");
      EXPECT_EQ(source->lora().rank, 3);
      EXPECT_EQ(source->lora().alpha, 7);
      EXPECT_EQ(source->lora().targets, "q_proj,v_proj,down_proj");
      EXPECT_EQ(source->base(), "some/base");
      source->check(model_, source->lora());
      expect_equal(load_adapter(*source, *self_), adapter_);
      EXPECT_EQ(source->bytes_read(), source->bytes());
      EXPECT_EQ(source->fingerprint(), open(*this / "a")->fingerprint());
    }
  }
  const std::string before = open(*this / "a")->fingerprint();
  write_peft(*this / "a", peft_config(lora_, "some/base", {{"lora_alpha", 8}}), adapter_, Dtype::fp16, ".default");
  EXPECT_NE(open(*this / "a")->fingerprint(), before);
}

TEST_F(Adapter, TargetModulesAreNamesAnExpressionOrAllLinear) {
  for (const json& targets :
       {json{"down_proj", "self_attn.q_proj", "v_proj"}, json(".*\\.(?:[qv]_proj|mlp\\.down_proj)"),
        json("(?!.*visual).*(q|v|down)_proj"), json()})
    EXPECT_EQ(refusal({{"target_modules", targets}}), "") << targets;
  EXPECT_THAT(refusal({{"target_modules", "all-linear"}}),
              AllOf(HasSubstr("missing: model.layers.0.mlp.gate_proj.lora_A.weight"), HasSubstr("and 6 more")));
  EXPECT_THAT(refusal({{"target_modules", {"q_proj", "v_proj", "down_proj", "o_proj"}}}),
              HasSubstr("missing: model.layers.1.self_attn.o_proj.lora_B.weight"));
  EXPECT_THAT(refusal({{"target_modules", {"q_proj", "v_proj", "own_proj"}}}),
              HasSubstr("not in target_modules: base_model.model.model.layers.0.mlp.down_proj.lora_A.weight"));
  EXPECT_THAT(refusal({{"target_modules", "("}}), HasSubstr("is not a valid PCRE2 regular expression"));
  EXPECT_THAT(refusal({{"target_modules", "(?:[a-z0-9_.]+)+\\.p"}}), HasSubstr("steps on 'model.layers.0"));
  EXPECT_THAT(refusal({{"target_modules", 3}}), HasSubstr("target_modules is 3"));
}

TEST_F(Adapter, WhatComputesSomethingElseIsRefusedByName) {
  for (const auto& [key, value] : {std::pair<const char*, json>{"peft_type", "LOHA"},
                                   {"task_type", "SEQ_CLS"},
                                   {"use_dora", true},
                                   {"modules_to_save", {"lm_head"}},
                                   {"bias", "lora_only"},
                                   {"lora_bias", true},
                                   {"init_lora_weights", "pissa_niter_16"},
                                   {"rank_pattern", {{"q_proj", 0}}},
                                   {"rank_pattern", {{"q_proj", 1.5}}},
                                   {"rank_pattern", {"q_proj"}},
                                   {"alpha_pattern", {{"q_proj", "8"}}},
                                   {"kasa_config", {{"beta", 1}}},
                                   {"velora_config", {{"num_groups", 4}}},
                                   {"layers_to_transform", {1}},
                                   {"layer_replication", {{0, 1}}},
                                   {"trainable_token_indices", {1}},
                                   {"r", 0},
                                   {"r", "8"},
                                   {"lora_alpha", 0},
                                   {"lora_alpha", -1},
                                   {"lora_dropout", 1}})
    EXPECT_THAT(refusal({{key, value}}), HasSubstr(std::string("  ") + key + " is ")) << key << " " << value;
  EXPECT_THAT(refusal({{"use_dora", true}, {"bias", "all"}}), AllOf(HasSubstr("use_dora is"), HasSubstr("bias is")));
  base::write_file_atomic(*this / "a/adapter_config.json", "[]");
  EXPECT_THAT(refusal(*this / "a"), HasSubstr("is not a JSON object"));
}

TEST_F(Adapter, WhatChangesNoNumberIsPassedOver) {
  EXPECT_EQ(refusal({{"rank_pattern", {{"q_proj", 3}}},
                     {"alpha_pattern", {{"q_proj", 7.0}}},
                     {"layers_to_transform", {0, 1}},
                     {"modules_to_save", json::array()},
                     {"init_lora_weights", "gaussian"},
                     {"task_type", nullptr},
                     {"fan_in_fan_out", true},
                     {"peft_version", "0.17.0"},
                     {"exclude_modules", json::array()},
                     {"a_member_that_is_off", false}}),
            "");
  EXPECT_THAT(base::in(open(*this / "a")->notes(), base::Language::english), IsEmpty());
}

TEST_F(Adapter, MembersThatNobodyKnowsAreNoted) {
  EXPECT_EQ(refusal({{"future_key", {{"scale", 2}}}, {"lora_scale", 0.5}}), "");
  EXPECT_THAT(base::in(open(*this / "a")->notes(), base::Language::english),
              ElementsAre(HasSubstr("adapter_config.json has future_key: {\"scale\":2}, which is unknown and ignored"),
                          HasSubstr("lora_scale: 0.5")));
}

TEST_F(Adapter, ModulesThatAreExcludedHaveNoAdapter) {
  const json all = config::adaptable_projections();
  for (const json& excluded : {json{"k_proj", "o_proj", "mlp.gate_proj", "up_proj", "lm_head"},
                               json(".*\\.([ko]|gate|up)_proj"), json(".*(k|o|gate|up)_proj")})
    EXPECT_EQ(refusal({{"target_modules", all}, {"exclude_modules", excluded}}), "") << excluded;
  EXPECT_EQ(
      refusal({{"target_modules", "all-linear"}, {"exclude_modules", {"k_proj", "o_proj", "gate_proj", "up_proj"}}}),
      "");
  EXPECT_THAT(refusal({{"exclude_modules", {"q_proj"}}}),
              HasSubstr("in exclude_modules: base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"));
  EXPECT_THAT(refusal({{"exclude_modules", ".*layers\\.1\\..*"}}),
              HasSubstr("in exclude_modules: base_model.model.model.layers.1.mlp.down_proj"));
  EXPECT_THAT(refusal({{"exclude_modules", "all("}}), HasSubstr("exclude_modules 'all(' is not a valid PCRE2 regular expression"));
  Tensors first = adapter_;
  for (const char* name : {"self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"})
    for (const char* part : {lora_a, lora_b}) first.erase(std::string("model.layers.1.") + name + part);
  write_peft(*this / "a", peft_config(lora_, "m", {{"exclude_modules", ".*layers\\.1\\..*"}}), first);
  EXPECT_THAT(refusal(*this / "a"), AllOf(HasSubstr("missing: model.layers.1.mlp.down_proj.lora_A.weight"),
                                          HasSubstr("and exclude_modules is \".*layers")));
}

TEST_F(Adapter, RanksAndScalesOfPatternsAreThoseOfTheFirstKeyThatMatches) {
  config::LoraSettings lora = lora_;
  lora.rank_pattern = "v_proj:5,layers.1.self_attn.q_proj:2";
  const Tensors adapter = random_adapter(model_, lora);
  const auto refused = [&](const char* text) {
    json config = peft_config(lora, "m");
    config.erase("rank_pattern");
    std::string whole = config.dump();
    whole.pop_back();
    base::make_directories(*this / "p");
    write_peft(*this / "p", config, adapter);
    base::write_file_atomic(*this / "p/adapter_config.json", whole + ", " + text + "}");  // keys in this order
    return refusal(*this / "p");
  };
  EXPECT_EQ(refused(R"("rank_pattern": {"self_attn.v_proj": 5, "model.layers.1.self_attn.q_proj": 2, "q_proj": 3})"),
            "");
  EXPECT_EQ(open(*this / "p")->lora().rank_pattern, "layers.1.self_attn.q_proj:2,v_proj:5");
  EXPECT_EQ(refused(R"("rank_pattern": {".*v_proj": 5, "layers\\.[1-9].*q_proj": 2},
                       "alpha_pattern": {"v_proj": 10}, "use_rslora": true)"),
            "");
  const config::LoraSettings read = open(*this / "p")->lora();
  EXPECT_DOUBLE_EQ(config::adapter_size(read, {0, config::Projection::v}).scale, 10 / std::sqrt(5.0));
  EXPECT_DOUBLE_EQ(config::adapter_size(read, {1, config::Projection::q}).scale, 7 / std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(config::adapter_size(read, {0, config::Projection::q}).scale, 7 / std::sqrt(3.0));
  EXPECT_THAT(refused(R"("rank_pattern": {"q_proj": 3, "layers.1.self_attn.q_proj": 2, "v_proj": 5})"),
              HasSubstr("shape: model.layers.1.self_attn.q_proj.lora_A.weight is [2, 16] and should be [3, 16]"));
  EXPECT_THAT(refused(R"("rank_pattern": {"(": 3})"), HasSubstr("is not a valid PCRE2 regular expression"));
}

TEST_F(Adapter, WrittenConfigurationsReadBack) {
  config::LoraSettings lora = lora_;
  lora.targets = "q_proj,up_proj";
  for (const double alpha : {0.0, 7.0, 0.1, 7 * std::sqrt(3.0)}) {
    lora.alpha = alpha;
    lora.dropout = 0.05;
    const config::PeftConfig config = config::parse_peft_config(config::peft_config_text(lora, 2, "b"), "text");
    EXPECT_DOUBLE_EQ(config::usual_size(config.lora).scale, config::usual_size(lora).scale);
    EXPECT_EQ(config.lora.rank, 3);
    EXPECT_EQ(config.lora.dropout, 0.05);
    EXPECT_EQ(config.base, "b");
    EXPECT_TRUE(config.modules.matches("model.layers.1.mlp.up_proj"));
    EXPECT_FALSE(config.modules.matches("model.layers.1.self_attn.v_proj"));
  }
  lora.rslora = true;
  lora.rank_pattern = "layers.1.q_proj:2,up_proj:8";
  lora.alpha_pattern = "up_proj:1.5";
  const std::string text = config::peft_config_text(lora, 2, "b");
  EXPECT_THAT(text, AllOf(HasSubstr("\"use_rslora\": true"), HasSubstr("\"layers.1.self_attn.q_proj\": 2"),
                          HasSubstr("\"up_proj\": 1.5")));
  const config::LoraSettings back = config::lora_of(config::parse_peft_config(text, "text"),
                                                    {{0, config::Projection::q},
                                                     {1, config::Projection::q},
                                                     {0, config::Projection::up},
                                                     {1, config::Projection::up}},
                                                    "text");
  EXPECT_EQ(back.rank_pattern, "layers.1.self_attn.q_proj:2,up_proj:8");
  EXPECT_EQ(back.alpha_pattern, "up_proj:1.5");
  EXPECT_TRUE(back.rslora);
}

TEST_F(Adapter, MissingAndForeignTensorsAreNamed) {
  Tensors adapter = adapter_;
  adapter.erase("model.layers.1.self_attn.v_proj.lora_B.weight");
  adapter["model.layers.0.self_attn.q_proj.lora_A.weight"] = at::zeros({4, 16});
  write_peft(*this / "a", peft_config(lora_, "m", {{"layers_to_transform", {0, 1}}}), adapter);
  EXPECT_THAT(refusal(*this / "a"),
              AllOf(HasSubstr("missing: model.layers.1.self_attn.v_proj.lora_B.weight"),
                    HasSubstr("shape: model.layers.0.self_attn.q_proj.lora_A.weight is [4, 16] and should be [3, 16]"),
                    HasSubstr("layers_to_transform is [0,1]")));
  adapter = adapter_;
  adapter["lm_head.weight"] = at::zeros({19, 16});
  write_peft(*this / "a", peft_config(lora_, "m"), adapter);
  EXPECT_THAT(refusal(*this / "a"), HasSubstr("unknown: base_model.model.lm_head.weight"));
  adapter = adapter_;
  adapter["lm_head.lora_A.weight"] = at::zeros({3, 16});
  write_peft(*this / "a", peft_config(lora_, "m", {{"target_modules", "all-linear"}}), adapter);
  EXPECT_THAT(refusal(*this / "a"), HasSubstr("not an adapter of a layer's linear module"));
  write_peft(*this / "a", peft_config(lora_, "m"), {});
  EXPECT_THAT(refusal(*this / "a"), HasSubstr("no tensor belongs to an adapter"));
}

TEST_F(Adapter, AnAdapterOfOtherSettingsDoesNotFit) {
  write_peft(*this / "a", peft_config(lora_, "m"), adapter_);
  const auto source = open(*this / "a");
  config::LoraSettings other = lora_;
  other.targets = "q_proj";
  EXPECT_THROW(source->check(model_, other), base::DataError);
  other = lora_;
  other.rank = 4;
  EXPECT_THROW(source->check(model_, other), base::DataError);
  config::ModelSettings first = model_;
  first.layers = 1;
  source->check(first, lora_);
}

TEST_F(Adapter, FilesThatAreMissingOrProgramsAreRefused) {
  write_peft(*this / "a", peft_config(lora_, "m"), adapter_);
  base::rename_path(*this / "a/adapter_model.safetensors", *this / "a/adapter_model.bin");
  EXPECT_THAT(refusal(*this / "a"), AllOf(HasSubstr("adapter_model.bin can run code"), HasSubstr("safetensors")));
  base::remove_tree(*this / "a/adapter_model.bin");
  EXPECT_THAT(refusal(*this / "a"), HasSubstr("has no adapter_model.safetensors; complete the copy"));
  write_model(*this / "m", model_);
  EXPECT_THAT(refusal(*this / "m"), HasSubstr("is a full model; name an adapter"));
  EXPECT_THAT(refusal(*this / "none"), HasSubstr("there is no model folder, adapter, checkpoint or run"));
}

TEST_F(Adapter, CopiesOnHostsMustBeThereAndAlike) {
  write_peft(*this / "a", peft_config(lora_, "m"), adapter_);
  write_peft(*this / "b", peft_config(lora_, "m"), random_adapter(model_, lora_, 9));
  const auto open_elsewhere = [this](const std::string& elsewhere) {
    return errors_of_ranks(
        2, [&](comm::Channel& world) { open_adapter(world.rank() == 1 ? *this / elsewhere : *this / "a", world); });
  };
  EXPECT_THAT(open_elsewhere("b"), Each(AllOf(HasSubstr("on rank 1's host"), HasSubstr("copy one folder to all"))));
  EXPECT_THAT(open_elsewhere("none"), Each(AllOf(HasSubstr("no adapter's folder"), HasSubstr("on rank 1's host"))));
  EXPECT_THAT(open_elsewhere("a"), Each(""));
}

TEST_F(Adapter, ACheckpointOnSeveralHostsIsAnAdapterForAllOfThem) {
  config::Settings settings;
  settings.model = model_;
  settings.model.path = "the/base";
  settings.lora = lora_;
  const auto run = [this](const comm::Channel& world) {
    return *this / ("host" + std::to_string(world.rank()) + "/run");
  };
  EXPECT_THAT(errors_of_ranks(3,
                              [&](comm::Channel& world) {
                                save_adapter(run(world), settings, adapter_, world, {{"tokenizer", "bytes"}});
                              }),
              Each(""));
  const auto load = [&](comm::Channel& world) {
    for (const char* below : {"", "/checkpoints", "/checkpoints/step-00000007", "/checkpoints/step-00000007/model/"}) {
      const auto source = open_adapter(run(world) + below, world);
      EXPECT_EQ(source->base(), "the/base");
      EXPECT_EQ(source->lora().alpha, 7);
      EXPECT_EQ(source->tokenizer(), "bytes");
      source->check(model_, lora_);
      expect_equal(load_adapter(*source, world), adapter_);
    }
  };
  EXPECT_THAT(errors_of_ranks(3, load), Each(""));
  EXPECT_THAT(refusal(*this / "host0/run"), HasSubstr("is missing; it was written on"));
}

}  // namespace
}  // namespace troika::weights
