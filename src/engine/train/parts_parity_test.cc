// Training of a part of the parameters, frozen layers or adapters beside frozen weights: the layout does not change the
// result, what is frozen keeps its bits, and a resume equals the uninterrupted run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "comm/channel.h"
#include "shape/adapter.h"
#include "tensor/libtorch_test_support.h"
#include "train/evaluation_test_support.h"
#include "train/layout_runs_test_support.h"
#include "weights/model_source.h"

namespace troika::train {
namespace {

using Tensors = std::map<std::string, at::Tensor>;
using testing::HasSubstr;

// Runs that begin from the checkpoint of another one.
class Parts : public testing::Test {
 protected:
  Parts() {
    runs_.settings.model.layers = 4;
    runs_.settings.batch.seq_len = 16;
    runs_.settings.train.steps = 2;
    runs_.train("base", "");
    runs_.settings.model.path = runs_.folder("base");
    runs_.settings.train.steps = 4;
  }

  void use_adapters() {
    runs_.settings.lora.rank = 3;
    runs_.settings.lora.dropout = 0.2;
    runs_.settings.optimizer.lr = 1e-2;
  }

  Tensors weights_of(const std::string& run, const std::vector<shape::ParameterInfo>& infos) const {
    std::vector<checkpoint::Slice> wanted;
    for (const auto& info : infos) {
      const std::int64_t elements = info.elements();
      wanted.push_back({info.name, info.shape, {0, elements, elements, 1}, at::empty({elements}, at::kFloat)});
    }
    const auto self = comm::make_self_channel("test");
    checkpoint::load(checkpoint::open_any(runs_.folder(run), *self), wanted, *self);
    Tensors tensors;
    for (const auto& slice : wanted) tensors[slice.name] = slice.data;
    return tensors;
  }
  Tensors weights_of(const std::string& run) const { return weights_of(run, shape::all_parameters(model())); }
  const config::ModelSettings& model() const { return runs_.settings.model; }

  std::string saved_names(const std::string& run) const {
    const std::string index =
        base::read_file(runs_.folder(run) + "/checkpoints/step-00000004/model/model.safetensors.index.json");
    const nlohmann::json map = nlohmann::json::parse(index).at("weight_map");
    std::string names;
    for (const auto& [name, file] : map.items()) names += name + "\n";
    return names;
  }

  void expect_equal_bits(const std::vector<std::string>& layouts, const std::string& prefix = "") {
    const Rows alone = runs_.train(prefix + "alone", "threads 1");
    EXPECT_LT(alone.back().loss, alone.front().loss);
    std::size_t turn = 0;
    for (const std::string& layout : layouts)
      expect_equal_rows(runs_.train(prefix + layout, take_turns(layout, ++turn)), alone, layout);
  }

  void expect_near(const std::string& layout) {
    const Rows alone = runs_.train("alone", ""), split = runs_.train(layout, layout);
    ASSERT_EQ(alone.size(), split.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_NEAR(split[i].loss, alone[i].loss, 1e-5 * alone[i].loss) << layout;
      EXPECT_NEAR(split[i].grad_norm, alone[i].grad_norm, 1e-3 * alone[i].grad_norm) << layout;
    }
  }

  // Stops after two steps in one layout, continues in another.
  void expect_resume_equals_uninterrupted(const std::string& first, const std::string& second) {
    const Rows alone = runs_.train("alone", "");
    int begun = 0;
    runs_.train("chain", first, [&](Surroundings& surroundings, int rank) {
      if (rank == 0) surroundings.hooks.stop_requested = [&begun] { return ++begun >= 2; };
    });
    expect_equal_rows(runs_.train("chain", second), alone, first + ", then " + second);
  }

  std::string refusal(const std::string& run) {
    try {
      runs_.train(run, "");
    } catch (const base::Error& error) {
      return error.what();
    }
    return "accepted";
  }

  LayoutRuns runs_;
};

TEST_F(Parts, FrozenLayersKeepTheirBitsAndTheOthersTrainAlikeInEveryLayout) {
  runs_.settings.train.freeze = "embedding,head,1";
  expect_equal_bits({"dp 2", "pp 2", "dp 2 zero 1", "dp 2 pp 2 zero 2", "dp 2 zero 3", "pp 4 zb-h1 recompute full",
                     "pp 2 interleaved 2 recompute selective"});
  const Tensors before = weights_of("base");
  for (const std::string run : {"alone", "dp 2 zero 3"}) {
    for (const auto& [name, tensor] : weights_of(run)) {
      const bool trained = name.find("layers.0.") != std::string::npos || name.find("layers.2.") != std::string::npos ||
                           name.find("layers.3.") != std::string::npos;
      EXPECT_EQ(equal_bits(tensor, before.at(name)), !trained) << name << " of " << run;
    }
  }
}

TEST_F(Parts, StagesBelowTheTrainedLayersHaveNoBackward) {
  runs_.settings.train.trainable_layers = 1;
  runs_.settings.optimizer.lr = 1e-2;
  expect_equal_bits({"pp 4", "dp 2 pp 3 zero 3", "dp 2 pp 2 zero 1 gpipe", "pp 4 zb-h1"});
}

TEST_F(Parts, AnUntiedHeadOrEmbeddingCanBeFrozenAlone) {
  runs_.settings.model.path.clear();
  runs_.settings.model.tie_embeddings = false;
  for (const std::string part : {"head", "embedding"}) {
    runs_.settings.train.freeze = part;
    expect_equal_bits({"dp 2 pp 2 zero 2", "pp 3 recompute full"}, part + " ");
  }
}

TEST_F(Parts, FrozenLayersInTensorAndContextParallelLayoutsAgreeWithinRounding) {
  runs_.settings.train.freeze = "embedding,head,2";
  expect_near("tp 2 cp 2");
}

TEST_F(Parts, HalfPrecisionTrainsFrozenLayersAndAdaptersAlikeInEveryLayout) {
  runs_.settings.precision.compute = config::Precision::bf16;
  runs_.settings.train.freeze = "embedding,head,0-1";
  expect_equal_bits({"dp 2 zero 3", "pp 2"}, "frozen ");
  runs_.settings.train.freeze.clear();
  use_adapters();
  expect_equal_bits({"dp 2 zero 3", "pp 2 recompute full"}, "adapters ");
}

TEST_F(Parts, ResumedFrozenLayersEqualTheUninterruptedRun) {
  runs_.settings.train.freeze = "embedding,head,1";
  expect_resume_equals_uninterrupted("dp 2 zero 3", "pp 3");
  runs_.settings.train.freeze = "embedding,head";
  EXPECT_THAT(refusal("chain"), HasSubstr("all but the segments 0, 2, 5"));
}

TEST_F(Parts, AdaptersWithDropoutTrainAlikeInEveryLayoutAndNothingElseIsSaved) {
  use_adapters();
  const auto samples = samples_of_varied_lengths(runs_.folder("samples"), runs_.settings.batch.seq_len);
  runs_.valid = samples.get();
  expect_equal_bits({"dp 2", "pp 2", "dp 2 zero 1", "dp 2 pp 2 zero 2", "dp 2 zero 3", "pp 4 zb-h1 recompute full",
                     "pp 2 interleaved 2 recompute selective"});
  std::string names;
  for (int segment = 1; segment <= 4; ++segment) {
    for (const auto& info : shape::adapter_parameters(model(), runs_.settings.lora, segment)) names += info.name + "\n";
  }
  std::vector<std::string> sorted = base::split(names, '\n');
  std::sort(sorted.begin(), sorted.end());
  for (const std::string run : {"alone", "dp 2 zero 3"}) {
    std::vector<std::string> saved = base::split(saved_names(run), '\n');
    std::sort(saved.begin(), saved.end());
    EXPECT_EQ(saved, sorted);
  }
}

TEST_F(Parts, SomeTargetsAloneTrainAlike) {
  use_adapters();
  runs_.settings.lora.targets = "q_proj,v_proj,down_proj";
  expect_equal_bits({"dp 2 pp 2 zero 3", "recompute selective"});
}

TEST_F(Parts, AdaptersInTensorAndContextParallelLayoutsAgreeWithinRounding) {
  use_adapters();
  expect_near("tp 2");
  expect_near("tp 3 plain");
  expect_near("cp 2");
}

TEST_F(Parts, ResumedAdaptersEqualTheUninterruptedRun) {
  use_adapters();
  expect_resume_equals_uninterrupted("dp 2 zero 2", "pp 2 zb-h1");
  runs_.settings.lora.targets = "q_proj";
  EXPECT_THAT(refusal("chain"), HasSubstr("adapters of rank 3"));
}

TEST_F(Parts, AdaptersOfOtherWeightsAreRefused) {
  use_adapters();
  runs_.train("adapted", "");
  runs_.settings.model.path.clear();
  runs_.settings.lora = {};
  runs_.settings.train.seed = 7;
  runs_.train("other", "");
  use_adapters();
  runs_.settings.train.seed = 1234;
  runs_.settings.model.path = runs_.folder("other");
  EXPECT_THAT(refusal("adapted"), HasSubstr("were trained on weights"));
  runs_.settings.lora.path = runs_.folder("adapted");
  EXPECT_THAT(refusal("further"), HasSubstr("were trained on weights"));
}

TEST_F(Parts, AdaptersBeginWhereAnotherRunHasLeftThem) {
  use_adapters();
  const Rows first = runs_.train("adapted", "");
  runs_.settings.lora.path = runs_.folder("adapted");
  const Rows second = runs_.train("further", "dp 2 zero 3");
  EXPECT_LT(second.front().loss, first.front().loss);
  runs_.settings.lora.alpha = 1;
  EXPECT_THAT(refusal("louder"), HasSubstr("omit lora.alpha"));
}

}  // namespace
}  // namespace troika::train
