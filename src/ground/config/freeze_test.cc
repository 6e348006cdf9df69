
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_test_support.h"
#include "config/lora.h"

namespace troika::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<bool> trained(const std::vector<std::string>& arguments) {
  return trained_segments(resolved(arguments, 1).settings);
}

const std::string untied = "--model.tie_embeddings=false";

TEST(Freeze, NothingSaidTrainsEverything) { EXPECT_THAT(trained({}), ElementsAre(true, true, true, true, true, true)); }

TEST(Freeze, PartsAreTheEmbeddingTheHeadAndLayers) {
  EXPECT_THAT(trained({"--freeze", "embedding, 0-1,3", untied}), ElementsAre(false, false, false, true, false, true));
  EXPECT_THAT(trained({"--freeze", "head", untied}), ElementsAre(true, true, true, true, true, false));
  EXPECT_THAT(trained({"--freeze", "embedding,head"}), ElementsAre(false, true, true, true, true, false));
}

TEST(Freeze, TrainableLayersCountFromTheEndOrIfNegativeFromTheBeginning) {
  EXPECT_THAT(trained({"--trainable-layers", "1"}), ElementsAre(false, false, false, false, true, false));
  EXPECT_THAT(trained({"--trainable-layers=-2"}), ElementsAre(false, true, true, false, false, false));
}

TEST(Freeze, CountsLayersAfterMiddleLayers) {
  EXPECT_THAT(trained({"--middle-layers", "2", "--trainable-layers", "1"}), ElementsAre(false, false, true, false));
  EXPECT_THAT(resolve_error({"--middle-layers", "2", "--freeze", "2"}, 1),
              HasSubstr("train.freeze '2' is not in the model's layers 0-1"));
}

TEST(Freeze, WhatIsWrongIsNamed) {
  EXPECT_EQ(resolve_error({"--freeze", "embed,head"}, 1),
            "train.freeze takes embedding, head, and layers such as 7 or 0-3, not 'embed'");
  EXPECT_THAT(resolve_error({"--freeze", "2-9"}, 1), HasSubstr("train.freeze '2-9' is not in the model's layers 0-3"));
  EXPECT_THAT(resolve_error({"--freeze", "2-1"}, 1), HasSubstr("1 is below 2"));
  EXPECT_THAT(resolve_error({"--freeze", "0-"}, 1), HasSubstr("not '0-'"));
  EXPECT_THAT(resolve_error({"--trainable-layers", "5"}, 1), HasSubstr("the model has 4 layers: from -4 to 4"));
  EXPECT_THAT(resolve_error({"--freeze", "embedding,0-3,head"}, 1), HasSubstr("leaves nothing to train"));
  EXPECT_THAT(resolve_error({"--freeze", "0", "--trainable-layers", "1"}, 1), HasSubstr("are mutually exclusive"));
  EXPECT_THAT(resolve_error({"--freeze", "embedding"}, 1), HasSubstr("freeze both, as embedding,head, or neither"));
  EXPECT_THAT(resolve_error({"--freeze", "0", "--lora.rank", "4"}, 1),
              HasSubstr("train.freeze and lora.rank 4 are mutually exclusive"));
}

TEST(Lora, TargetsComeInTheOrderOfALayer) {
  LoraSettings lora;
  EXPECT_EQ(lora_targets(lora), adaptable_projections());
  lora.targets = "v_proj, q_proj";
  EXPECT_THAT(lora_targets(lora), ElementsAre("q_proj", "v_proj"));
}

TEST(Lora, WhatIsWrongIsNamed) {
  EXPECT_THAT(resolve_error({"--lora.rank", "4"}, 1), HasSubstr("model.path is not set"));
  EXPECT_THAT(resolve_error({"--lora.rank", "4", "--lora.targets", "q_prj"}, 1), HasSubstr("nearest: q_proj"));
  EXPECT_THAT(resolve_error({"--lora.rank_pattern", "q_proj:4"}, 1), HasSubstr("but lora.rank is 0"));
  EXPECT_THAT(resolve_error({"--lora.rank", "4", "--model.preset", "gpt2-124m"}, 1), HasSubstr("gpt2"));
}

TEST(Lora, PatternsGiveSomeProjectionsARankAndAScaleOfTheirOwn) {
  LoraSettings lora;
  lora.rank = 4;
  lora.rank_pattern = "layers.1.q_proj:2, self_attn.q_proj:8,model.layers.0.mlp.up_proj:16";
  lora.alpha_pattern = "q_proj:4";
  const auto size = [&](std::int64_t layer, Projection projection) { return adapter_size(lora, {layer, projection}); };
  EXPECT_EQ(size(0, Projection::q).rank, 8);
  EXPECT_EQ(size(0, Projection::q).scale, 0.5);
  EXPECT_EQ(size(1, Projection::q).rank, 2);
  EXPECT_EQ(size(11, Projection::q).rank, 8);
  EXPECT_EQ(size(0, Projection::up).scale, 0.5) << "alpha is 2 x lora.rank";
  EXPECT_EQ(size(1, Projection::up).rank, 4);
  lora.rslora = true;
  EXPECT_EQ(size(0, Projection::up).scale, 2);
  EXPECT_EQ(size(1, Projection::v).scale, 4);
  EXPECT_EQ(with_plain_sizes(lora, 2).rank_pattern,
            "layers.0.self_attn.q_proj:8,layers.1.self_attn.q_proj:2,layers.0.mlp.up_proj:16");
  EXPECT_EQ(with_plain_sizes(lora, 2).alpha_pattern, "q_proj:4");
  EXPECT_THAT(wrong_patterns(lora, 2), ElementsAre());
  for (const auto& [pattern, complaint] :
       {std::pair{"q_proj", "'q_proj' is not NAME:NUMBER"}, {"q_proj:x", "is not NAME:NUMBER"},
        {"q_proj:0", "the rank of q_proj must be a whole number from 1"}, {"q_proj:1.5", "whole number"},
        {"layers.2.q_proj:3", "'layers.2.q_proj' matches no adapter"}, {"proj:3", "matches no adapter"}}) {
    lora.rank_pattern = pattern;
    ASSERT_EQ(wrong_patterns(lora, 2).size(), 1u) << pattern;
    EXPECT_THAT(wrong_patterns(lora, 2)[0].english, HasSubstr(complaint));
  }
}

}  // namespace
}  // namespace troika::config
