// Model folders that are incomplete, inconsistent or made to mislead: a DataError that says so, always.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/mapping_guard.h"
#include "checkpoint/layouts_test_support.h"
#include "tensor/libtorch_test_support.h"
#include "weights/folder_test_support.h"
#include "weights/weights_read.h"

namespace troika::weights {
namespace {
using namespace checkpoint::testing_support;
using namespace testing_support;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string complaint(const std::function<void()>& work) {
  try {
    work();
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "";
}

std::string complaint_about(const std::string& folder) {
  return complaint([&] { WeightsFolder{folder}; });
}

void write_index(const std::string& folder, const std::string& weight_map) {
  base::write_file_atomic(folder + "/model.safetensors.index.json",
                          R"({"metadata": {}, "weight_map": )" + weight_map + "}");
}

const std::vector<checkpoint::TensorEntry> a{{"a", base::Dtype::fp32, {2}, 0, 0}},
    b{{"b", base::Dtype::bf16, {3}, 0, 0}};

TEST(WeightsFolder, AFileThatIsCutAfterItWasOpenedIsNamed) {
  const base::MappingGuard guard;
  const std::string folder = fresh_folder("cut");
  const std::int64_t count = 100000;
  write_weights(folder + "/model.safetensors", {{"w", base::Dtype::fp32, {count}, 0, 0}});
  const WeightsFolder weights(folder);
  ASSERT_EQ(::truncate((folder + "/model.safetensors").c_str(), 8192), 0);
  const checkpoint::Slice slice{"w", {count}, {0, count, count, 1}, at::empty({count}, at::kFloat)};
  EXPECT_THAT(complaint([&] { read_weights(weights.tensors(), {slice}); }),
              AllOf(HasSubstr(folder + "/model.safetensors"), HasSubstr("truncated to 8192 of its")));
  EXPECT_THAT(complaint([&] { static_cast<void>(weights.fingerprint()); }), HasSubstr("truncated to 8192 of its"));
}

TEST(WeightsFolder, AFolderWithoutWeightsSaysWhatIsThereInstead) {
  EXPECT_THAT(complaint_about("/nowhere/at/all"), HasSubstr("there is no model folder '/nowhere/at/all'"));
  const std::string folder = fresh_folder("empty");
  EXPECT_THAT(complaint_about(folder),
              AllOf(HasSubstr("has neither model.safetensors nor"), HasSubstr("complete the download")));
  base::write_file_atomic(folder + "/pytorch_model.bin", "x");
  EXPECT_THAT(complaint_about(folder), HasSubstr("convert it to safetensors"));
}

TEST(WeightsFolder, AnIndexThatPointsOutsideIsRefused) {
  const std::string folder = fresh_folder("outside");
  write_weights(folder + "/x.safetensors", a);
  base::make_directories(folder + "/model");
  for (const char* file :
       {"../outside/x.safetensors", "/etc/passwd", "..", ".", "", "sub/x.safetensors", ".x.safetensors", "x.bin",
        "C:\\\\x.safetensors", "x\\u0000.safetensors", "x\\n.safetensors"}) {
    write_index(folder + "/model", std::string(R"({"a": ")") + file + "\"}");
    EXPECT_THAT(complaint_about(folder + "/model"), HasSubstr("but must name a .safetensors file in the same folder")) << file;
  }
}

TEST(WeightsFolder, AnIndexThatIsNoneIsRefused) {
  const std::string folder = fresh_folder("index");
  for (const char* text : {"", "[]", "nonsense", "{}", R"({"weight_map": []})", R"({"weight_map": {}})",
                           R"({"weight_map": {"a": 7}})", R"({"weight_map": {"a": null}})"}) {
    base::write_file_atomic(folder + "/model.safetensors.index.json", text);
    EXPECT_THAT(complaint_about(folder), HasSubstr("model.safetensors.index.json")) << text;
  }
}

TEST(WeightsFolder, MissingFilesAreAllNamed) {
  const std::string folder = fresh_folder("missing");
  write_weights(folder + "/one.safetensors", a);
  write_index(folder, R"({"a": "one.safetensors", "b": "two.safetensors", "c": "three.safetensors"})");
  EXPECT_THAT(complaint_about(folder),
              AllOf(HasSubstr("lacks 2 of the 3 files"), HasSubstr("two.safetensors"), HasSubstr("three.safetensors")));
}

TEST(WeightsFolder, AnIndexThatDoesNotFitItsFilesIsRefused) {
  const std::string folder = fresh_folder("unfit");
  write_weights(folder + "/one.safetensors", a);
  write_weights(folder + "/two.safetensors", b);
  write_index(folder, R"({"a": "two.safetensors", "b": "two.safetensors", "c": "one.safetensors"})");
  EXPECT_THAT(complaint_about(folder), AllOf(HasSubstr("a: in one.safetensors, not in two.safetensors"),
                                             HasSubstr("c: not in one.safetensors, nor in any other file")));
  write_weights(folder + "/two.safetensors", a);
  write_index(folder, R"({"a": "one.safetensors", "b": "two.safetensors"})");
  EXPECT_THAT(complaint_about(folder), HasSubstr("tensor 'a' twice, in one.safetensors and two.safetensors"));
}

TEST(WeightsFolder, DamagedFilesAreNamed) {
  const std::string folder = fresh_folder("damaged");
  const std::string path = folder + "/model.safetensors";
  base::write_file_atomic(path, "");
  EXPECT_THAT(complaint_about(folder), AllOf(HasSubstr(path), HasSubstr("it has 0 bytes")));
  write_weights(path, a);
  const std::string whole = base::read_file(path);
  base::write_file_atomic(path, whole.substr(0, whole.size() - 1));
  EXPECT_THAT(complaint_about(folder), AllOf(HasSubstr(path), HasSubstr("outside the file")));
  base::write_file_atomic(path, std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + whole.substr(8));
  EXPECT_THAT(complaint_about(folder), AllOf(HasSubstr(path), HasSubstr("its header should have")));
}

TEST(WeightsFolder, PartsOfTensorsAreACheckpointsBusiness) {
  const std::string folder = fresh_folder("parts");
  save_all({folder}, 2, 1, Cut::flat, Cut::flat);
  EXPECT_THAT(complaint_about(folder + "/step-00000001/model"), HasSubstr("name the checkpoint's folder (step-...)"));
  save_all({folder}, 2, 2, Cut::whole, Cut::flat);
  EXPECT_EQ(WeightsFolder(folder + "/step-00000002/model").tensors().size(), 5U);
}

class Match : public testing::Test {
 protected:
  std::string complaint_with(const std::vector<checkpoint::TensorEntry>& entries) {
    write_weights(folder_ + "/model.safetensors", entries);
    return complaint([&] { match_weights(WeightsFolder(folder_), model_, model_); });
  }

  const std::string folder_ = fresh_folder("model");
  const config::ModelSettings model_ = tiny_model("qwen3");
};

TEST_F(Match, EveryFaultIsNamedAtOnce) {
  auto entries = entries_of(model_, base::Dtype::bf16);
  EXPECT_EQ(complaint_with(entries), "");
  entries[0].shape = {12, 37};
  entries[1].dtype = base::Dtype::int32;
  entries[2].name = "model.layers.7.mystery";
  EXPECT_THAT(
      complaint_with(entries),
      AllOf(HasSubstr("1 of 24 tensors missing, 2 of another shape or dtype, 1 unknown"),
            HasSubstr("shape: model.embed_tokens.weight is [12, 37] and should be [37, 12]"),
            HasSubstr("dtype: model.layers.0.input_layernorm.weight is I32 and should be F32, BF16 or F16"),
            HasSubstr("missing: model.layers.0.mlp.down_proj.weight"), HasSubstr("unknown: model.layers.7.mystery")));
}

TEST_F(Match, OfManyFaultsTenAreShown) {
  auto entries = entries_of(model_, base::Dtype::fp32);
  entries.resize(1);
  EXPECT_THAT(complaint_with(entries), AllOf(HasSubstr("23 of 24 tensors missing"), HasSubstr("and 13 more")));
}

TEST_F(Match, ATensorWithAndWithoutPrefixIsThereTwice) {
  auto entries = entries_of(model_, base::Dtype::fp32);
  entries.push_back({"norm.weight", base::Dtype::fp32, {12}, 0, 0});
  EXPECT_THAT(complaint_with(entries), HasSubstr("duplicate: model.norm.weight, with and without 'model.'"));
}

TEST_F(Match, TensorsOfLayersThatAreNotWantedAreNoFault) {
  write_weights(folder_ + "/model.safetensors", entries_of(model_, base::Dtype::fp32));
  config::ModelSettings first = model_;
  first.layers = 1;
  EXPECT_EQ(match_weights(WeightsFolder(folder_), model_, first).count("model.layers.0.mlp.up_proj.weight"), 1U);
  EXPECT_THAT(complaint([&] { match_weights(WeightsFolder(folder_), first, first); }),
              AllOf(HasSubstr("unknown: model.layers.1."), Not(HasSubstr("missing:"))));
}

TEST_F(Match, FoldersOfTheModelWithoutItsHeadAndTablesThatAreNoParametersAreTaken) {
  for (const char* architecture : {"qwen3", "gpt2"}) {
    config::ModelSettings model = tiny_model(architecture);
    auto entries = entries_of(model, base::Dtype::fp16);
    const std::string prefix = model.architecture == config::Family::gpt2 ? "transformer." : "model.";
    for (checkpoint::TensorEntry& entry : entries) entry.name = entry.name.substr(prefix.size());
    if (model.architecture == config::Family::gpt2) {
      entries.push_back({"h.0.attn.bias", *checkpoint::StoredDtype::named("BOOL"), {1, 1, 16, 16}, 0, 0});
      entries.push_back({"h.1.attn.masked_bias", base::Dtype::fp32, {}, 0, 0});
    } else {
      entries.push_back({"layers.0.self_attn.rotary_emb.inv_freq", base::Dtype::fp32, {3}, 0, 0});
    }
    entries.push_back({"lm_head.weight", base::Dtype::fp16, {37, 12}, 0, 0});
    write_weights(folder_ + "/model.safetensors", entries);
    const WeightsFolder folder(folder_);
    const Assignment found = match_weights(folder, model, model);
    EXPECT_EQ(found.size(), entries_of(model, base::Dtype::fp16).size());
    EXPECT_EQ(found.begin()->first.rfind(prefix, 0), 0U);
    model.tie_embeddings = false;
    EXPECT_EQ(match_weights(folder, model, model).count("lm_head.weight"), 1U);
  }
}

}  // namespace
}  // namespace troika::weights
