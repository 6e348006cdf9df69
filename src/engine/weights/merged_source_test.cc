#include "weights/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "base/temporary_folder_test_support.h"
#include "comm/channel.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"
#include "weights/adapter_test_support.h"
#include "weights/checkpoint_source.h"

namespace troika::weights {
namespace {
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;

class Merged : public testing::Test {
 protected:
  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }

  std::unique_ptr<ModelSource> open(const std::string& path, const std::string& base = "") const {
    return open_model(path, *self_, base);
  }

  std::string refusal(const std::string& path, const std::string& base = "") const {
    try {
      open(path, base);
    } catch (const base::Error& error) {
      return error.what();
    }
    return "";
  }

  // A run with adapters on the model at `base`, saved by one rank.
  void save_run(const std::string& run, const std::string& base, const std::map<std::string, std::string>& extra = {}) {
    config::Settings settings;
    settings.model = model_;
    settings.model.path = base;
    settings.lora = lora_;
    save_adapter(run, settings, adapter_, *self_, extra);
  }

  const config::ModelSettings model_ = tiny_llama();
  const config::LoraSettings lora_ = tiny_lora();
  const base::TemporaryFolder folder_;
  const std::unique_ptr<comm::Channel> self_ = comm::make_self_channel("self");
  const Tensors weights_ = write_model(*this / "m", model_);
  const Tensors adapter_ = random_adapter(model_, lora_);
};

// W of the product at `module` with its adapter, in fp64.
at::Tensor with_adapter(const Tensors& weights, const Tensors& adapter, const std::string& module, double scale) {
  const at::Tensor w = weights.at(module + ".weight").to(at::kDouble);
  if (adapter.count(module + ".lora_A.weight") == 0) return w;
  const at::Tensor a = adapter.at(module + ".lora_A.weight").to(at::kDouble),
                   b = adapter.at(module + ".lora_B.weight").to(at::kDouble);
  return w + scale * at::matmul(b, a);
}

double relative_error(const at::Tensor& got, const at::Tensor& expected) {
  return ((got - expected).abs().max() / expected.abs().max()).item<double>();
}

TEST_F(Merged, GivesWhatTheBaseAndTheAdapterBesideItGive) {
  write_peft(*this / "a", peft_config(lora_, *this / "m"), adapter_);
  const Tensors merged = load_all(*open(*this / "a"));
  ASSERT_EQ(merged.size(), weights_.size());
  for (const auto& [name, got] : merged) {
    const at::Tensor w = weights_.at(name);
    if (w.dim() == 1) {
      EXPECT_TRUE(at::equal(got, w)) << name;
      continue;
    }
    const std::string module = name.substr(0, name.rfind('.'));
    const at::Tensor x = at::randn({5, w.size(1)}, at::kDouble);
    at::Tensor y = at::matmul(x, w.to(at::kDouble).t());
    if (adapter_.count(module + ".lora_A.weight") != 0) {
      const at::Tensor a = adapter_.at(module + ".lora_A.weight").to(at::kDouble),
                       b = adapter_.at(module + ".lora_B.weight").to(at::kDouble);
      y = y + 7.0 / 3.0 * at::matmul(at::matmul(x, a.t()), b.t());
      EXPECT_FALSE(at::equal(got, w)) << name;
    }
    EXPECT_LT(relative_error(at::matmul(x, got.to(at::kDouble).t()), y), 1e-6) << name;
  }
}

TEST_F(Merged, AdaptersOfOtherRanksAndScalesAreAddedWithTheirOwn) {
  config::LoraSettings lora = lora_;
  lora.rslora = true;
  lora.rank_pattern = "v_proj:5,layers.1.self_attn.q_proj:2";
  lora.alpha_pattern = "down_proj:1";
  const Tensors adapter = random_adapter(model_, lora);
  write_peft(*this / "a",
             peft_config(lora, *this / "m",
                         {{"use_rslora", true},
                          {"rank_pattern", {{"v_proj", 5}, {"layers.1.self_attn.q_proj", 2}}},
                          {"alpha_pattern", {{"down_proj", 1}}}}),
             adapter);
  for (const auto& [name, got] : load_all(*open(*this / "a"))) {
    const std::string module = name.substr(0, name.rfind('.'));
    const bool q1 = module == "model.layers.1.self_attn.q_proj", v = module.find("v_proj") != std::string::npos,
               down = module.find("down_proj") != std::string::npos;
    const double scale = (down ? 1 : 7) / std::sqrt(q1 ? 2.0 : v ? 5.0 : 3.0);
    EXPECT_LT(relative_error(got.to(at::kDouble), with_adapter(weights_, adapter, module, scale)), 1e-6) << name;
  }
}

// Random parts: rows, columns, flat pieces, as tensor parallelism and ZeRO cut them.
std::vector<shape::Region> random_regions(const std::vector<std::int64_t>& shape, const base::Philox& random) {
  const std::int64_t rows = shape[0], columns = shape.size() == 2 ? shape[1] : 1;
  std::uint64_t drawn = 0;
  const auto below = [&](std::int64_t count) {
    return static_cast<std::int64_t>(random.bits(drawn++) % static_cast<std::uint64_t>(count));
  };
  std::vector<shape::Region> regions;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t row = below(rows), column = below(columns), element = below(rows * columns);
    const std::int64_t width = 1 + below(columns - column), count = 1 + below(rows * columns - element);
    regions.push_back({row * columns, columns, columns, 1 + below(rows - row)});
    regions.push_back({row * columns + column, width, columns, 1 + below(rows - row)});
    regions.push_back({element, count, count, 1});
  }
  return regions;
}

TEST_F(Merged, AnyPartHasTheBitsOfTheWhole) {
  write_peft(*this / "a", peft_config(lora_, *this / "m"), adapter_);
  const auto source = open(*this / "a");
  const Tensors whole = load_all(*source);
  std::vector<checkpoint::Slice> wanted;
  for (const auto& [name, tensor] : whole)
    for (const auto& region : random_regions(tensor.sizes().vec(), base::Philox(3, name)))
      wanted.push_back({name, tensor.sizes().vec(), region, at::full({region.elements()}, NAN)});
  tensor::set_threads(2);
  source->load(source->model(), wanted, *self_);
  tensor::set_threads(1);
  for (const auto& slice : wanted) {
    const auto& r = slice.region;
    const at::Tensor expected =
        at::as_strided(whole.at(slice.name), {r.count, r.run}, {r.stride, 1}, r.offset).flatten();
    EXPECT_TRUE(at::equal(slice.data, expected)) << slice.name << " from " << r.offset;
  }
}

TEST_F(Merged, RanksMayWantUnequalParts) {
  write_peft(*this / "a", peft_config(lora_, *this / "m"), adapter_);
  const Tensors whole = load_all(*open(*this / "a"));
  const auto body = [&](comm::Channel& world) {
    const auto source = open_model(*this / "a", world);
    std::vector<checkpoint::Slice> wanted;
    for (const auto& [name, tensor] : whole) {
      if (world.rank() == 0) continue;  // wants nothing
      const std::int64_t half = tensor.numel() / 2, begin = world.rank() == 1 ? 0 : half;
      wanted.push_back({name, tensor.sizes().vec(), {begin, half, half, 1}, at::empty({half}, at::kFloat)});
    }
    source->load(source->model(), wanted, world);
    for (const auto& slice : wanted) {
      const at::Tensor expected = whole.at(slice.name).flatten().narrow(0, slice.region.offset, slice.data.elements());
      EXPECT_TRUE(at::equal(slice.data, expected));
    }
  };
  EXPECT_THAT(errors_of_ranks(3, body), Each(""));
}

TEST_F(Merged, RunsAreAdaptersToo) {
  write_peft(*this / "a", peft_config(lora_, *this / "m"), adapter_);
  const Tensors expected = load_all(*open(*this / "a"));
  save_run(*this / "run", *this / "m");
  for (const char* below : {"", "/checkpoints", "/checkpoints/step-00000007", "/checkpoints/step-00000007/model"}) {
    const auto source = open(*this / "run" + below);
    const Tensors got = load_all(*source);
    for (const auto& [name, tensor] : expected) EXPECT_TRUE(at::equal(got.at(name), tensor)) << name;
    EXPECT_EQ(source->bytes_read(), source->bytes());
  }
}

TEST_F(Merged, AdaptersMayStandOnAdapters) {
  save_run(*this / "run", *this / "m");
  const Tensors second = random_adapter(model_, lora_, 5);
  write_peft(*this / "a", peft_config(lora_, *this / "run"), second);
  const auto source = open(*this / "a");
  const Tensors got = load_all(*source);
  const std::string module = "model.layers.1.mlp.down_proj";
  const at::Tensor once = with_adapter(weights_, adapter_, module, 7.0 / 3.0);
  const at::Tensor expected = with_adapter({{module + ".weight", once}}, second, module, 7.0 / 3.0);
  EXPECT_LT(relative_error(got.at(module + ".weight").to(at::kDouble), expected), 1e-6);
  EXPECT_NE(source->fingerprint(), open(*this / "run")->fingerprint());
  EXPECT_NE(open(*this / "run")->fingerprint(), open(*this / "m")->fingerprint());
  write_peft(*this / "self", peft_config(lora_, *this / "self"), second);
  EXPECT_THAT(refusal(*this / "self"), HasSubstr("does one name itself?"));
}

TEST_F(Merged, ABaseThatIsElsewhereIsNamed) {
  write_peft(*this / "a", peft_config(lora_, "Some/Model-8B"), adapter_);
  EXPECT_THAT(refusal(*this / "a"),
              AllOf(HasSubstr(*this / "a'"), HasSubstr("'Some/Model-8B', which is not a local folder"),
                    HasSubstr("--base PATH")));
  EXPECT_EQ(refusal(*this / "a", *this / "m"), "");
  EXPECT_THAT(refusal(*this / "a", *this / "none"), HasSubstr("none', which is not a local folder"));
  EXPECT_THAT(refusal(*this / "m", *this / "m"), HasSubstr("is a full model, which needs no base"));
  nlohmann::json config = peft_config(lora_, "");
  config.erase("base_model_name_or_path");
  write_peft(*this / "a", config, adapter_);
  EXPECT_THAT(refusal(*this / "a"), HasSubstr("does not name its base model"));
}

TEST_F(Merged, AnotherBaseThanThatOfTheTrainingIsTakenOnlyByName) {
  save_run(*this / "run", *this / "m", {{base_fingerprint_fact, open(*this / "m")->fingerprint()}});
  EXPECT_EQ(refusal(*this / "run"), "");
  write_model(*this / "m", model_, 4);
  EXPECT_THAT(refusal(*this / "run"), AllOf(HasSubstr("was trained on weights in"), HasSubstr("--base PATH")));
  EXPECT_EQ(refusal(*this / "run", *this / "m"), "");
  config::ModelSettings wider = model_;
  wider.ffn = 25;
  write_model(*this / "wider", wider);
  EXPECT_THAT(refusal(*this / "run", *this / "wider"), HasSubstr("do not match its config.json"));
}

TEST_F(Merged, WhatTheAdapterDoesNotSayIsAsTheBaseSays) {
  base::write_file_atomic(*this / "m/tokenizer.json", "base");
  base::write_file_atomic(*this / "m/generation_config.json", "base");
  write_peft(*this / "a", peft_config(lora_, *this / "m"), adapter_);
  EXPECT_EQ(open(*this / "a")->tokenizer(), *this / "m");
  base::write_file_atomic(*this / "a/tokenizer.json", "own");
  base::write_file_atomic(*this / "a/chat_template.jinja", "own");
  const auto source = open(*this / "a");
  EXPECT_EQ(source->tokenizer(), *this / "a");
  EXPECT_THAT(source->auxiliary_files(), ElementsAre(*this / "a/chat_template.jinja",
                                                     *this / "m/generation_config.json", *this / "a/tokenizer.json"));
  EXPECT_EQ(source->model().path, *this / "a");
  EXPECT_EQ(source->dtype(), "bf16");
  EXPECT_EQ(source->facts().at(weights_from_fact), *this / "m");
  EXPECT_THAT(source->config_json(), HasSubstr("\"eos_token_id\": 5"));
  config::ModelSettings first = model_;
  first.layers = 1;
  source->check(first);
}

}  // namespace
}  // namespace troika::weights
