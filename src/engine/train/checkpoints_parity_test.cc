// A checkpoint of one layout and precision loads in every other and is saved again with the same bits: weights and optimizer state.
#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "comm/channel.h"
#include "inference/generate.h"
#include "shape/layout.h"
#include "tensor/libtorch_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using Tensors = std::map<std::string, at::Tensor>;

// Every hop loads what the one before saved, takes no step, and saves.
const std::vector<std::string>& ring() {
  static const std::vector<std::string> hops{"dp 2 pp 2 zero 3",
                                             "tp 2 pp 3",
                                             "",
                                             "tp 3 dp 2 zero 1 offload file",
                                             "cp 2 dp 2 zero 2 tp 2",
                                             "dp 2 pp 2 zero 3",
                                             "pp 2 interleaved 2 dp 3 zero 3 recompute full",
                                             "bf16 dp 2 pp 2 zero 3 zb-h1",
                                             "tp 4 pp 2 interleaved 2 plain",
                                             "fp16 tp 3 cp 2 zero 2 offload file",
                                             "fp16 dp 4 zero 1",
                                             "bf16 tp 2 pp 2 zero 3 cp 2",
                                             "tp 2 pp 3",
                                             ""};
  return hops;
}

class Ring : public testing::TestWithParam<std::tuple<bool, std::string>> {
 protected:
  Ring() {
    runs_.settings.model.layers = 4;
    runs_.settings.model.tie_embeddings = std::get<0>(GetParam());
    runs_.settings.batch.seq_len = 16;
    runs_.settings.train.steps = 3;
  }
  // Three steps in one precision; further runs are in fp32 where they do not say otherwise.
  void train_first(const std::string& layout) {
    runs_.settings.precision.compute = config::parse_word<config::Precision>(std::get<1>(GetParam())).value();
    runs_.train("first", layout);
    runs_.settings.precision.compute = config::Precision::fp32;
  }

  Tensors tensors_of(const std::string& run) const {
    std::vector<checkpoint::Slice> wanted;
    for (const auto& info : shape::all_parameters(runs_.settings.model)) {
      for (const char* prefix : {"", "adam_m.", "adam_v."}) {
        const std::int64_t elements = info.elements();
        wanted.push_back(
            {prefix + info.name, info.shape, {0, elements, elements, 1}, at::empty({elements}, at::kFloat)});
      }
    }
    const auto self = comm::make_self_channel("test");
    checkpoint::load(checkpoint::open_any(runs_.folder(run), *self), wanted, *self);
    Tensors tensors;
    for (const auto& slice : wanted) tensors[slice.name] = slice.data;
    return tensors;
  }

  std::string text_of(const std::string& run) const {
    const auto self = comm::make_self_channel("test");
    const auto source = weights::open_model(runs_.folder(run), *self);
    const auto tokenizer = tokenizer::open_tokenizer("bytes");
    const inference::TextModel text_model(*source, {});
    inference::TextOptions options;
    options.new_tokens = 8;
    inference::Text text(text_model, *tokenizer, {116, 104, 101}, options);
    while (!text.ended()) inference::advance(text_model, {&text});
    return text.take();
  }

  void expect_every_hop_keeps_all(const std::vector<std::string>& hops);

  LayoutRuns runs_;
};

void Ring::expect_every_hop_keeps_all(const std::vector<std::string>& hops) {
  const Tensors first = tensors_of("first");
  for (const auto& [name, tensor] : first) {
    EXPECT_GT(tensor.count_nonzero().item<std::int64_t>(), 0) << name;
  }
  const auto text = text_of("first");
  const auto facts = checkpoint::open_any(runs_.folder("first"), *comm::make_self_channel("self")).facts;
  std::string from = "first";
  int hop = 0;
  for (const std::string& layout : hops) {
    const std::string to = std::to_string(++hop) + " " + layout;
    runs_.settings.train.resume = runs_.folder(from) + "/checkpoints/step-00000003";
    runs_.train(to, layout);
    const Tensors now = tensors_of(to);
    for (const auto& [name, tensor] : first) EXPECT_TRUE(equal_bits(now.at(name), tensor)) << name << " after " << to;
    EXPECT_EQ(text_of(to), text) << to;
    for (const char* fact : {"samples_seen", "tokens_seen", "skipped_steps", "data_fingerprint"})
      EXPECT_EQ(checkpoint::open_any(runs_.folder(to), *comm::make_self_channel("self")).facts.extra.at(fact),
                facts.extra.at(fact))
          << fact;
    from = to;
  }
}

TEST_P(Ring, EveryHopKeepsAllBitsOfWeightsAndOptimizerState) {
  train_first("dp 3 zero 2");
  expect_every_hop_keeps_all(ring());
}

TEST_P(Ring, EveryHopKeepsAllBitsOfGpt2) {
  use_gpt2(&runs_.settings);
  train_first("tp 2");
  expect_every_hop_keeps_all({"", "tp 3 dp 2 zero 3", "bf16 pp 2 tp 2 plain"});
}

TEST_P(Ring, EveryHopKeepsAllBitsOfQwen2) {
  use_qwen2(&runs_.settings);
  train_first("tp 3");
  expect_every_hop_keeps_all({"", "tp 2 dp 2 zero 3", "bf16 pp 2 tp 3 plain"});
}

// Or a conversion between precisions would lose nothing, and the ring would prove nothing.
TEST_P(Ring, WeightsInACheckpointAreFinerThanHalfPrecision) {
  train_first("dp 2");
  const at::Tensor weights = tensors_of("first").at("model.layers.0.mlp.down_proj.weight");
  for (const auto dtype : {at::kBFloat16, at::kHalf}) {
    const std::int64_t changed = weights.ne(weights.to(dtype).to(at::kFloat)).sum().item<std::int64_t>();
    EXPECT_GT(changed, weights.numel() / 2);
  }
}

static std::string name_of_ring(const testing::TestParamInfo<std::tuple<bool, std::string>>& which) {
  return std::string(std::get<0>(which.param) ? "Tied" : "Untied") + "_" + std::get<1>(which.param);
}
using TiedIn = std::tuple<bool, std::string>;
INSTANTIATE_TEST_SUITE_P(Models, Ring, testing::Values(TiedIn(false, "fp32"), TiedIn(true, "bf16")), name_of_ring);
INSTANTIATE_TEST_SUITE_P(FullModels, Ring,
                         testing::Values(TiedIn(true, "fp32"), TiedIn(false, "bf16"), TiedIn(true, "fp16"),
                                         TiedIn(false, "fp16")),
                         name_of_ring);

}  // namespace
}  // namespace troika::train
