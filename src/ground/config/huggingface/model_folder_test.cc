#include "config/huggingface/model_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace troika::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ModelFolder : public testing::Test {
 protected:
  void SetUp() override {
    base::remove_tree(root_);
    base::make_directories(root_);
  }
  void TearDown() override { base::remove_tree(root_); }
  void put(const std::string& folder) const {
    base::make_directories(root_ + "/" + folder);
    base::write_file_atomic(root_ + "/" + folder + "/config.json",
                            R"({"model_type": "qwen3", "num_hidden_layers": 28})");
  }
  const std::string root_ = testing::TempDir() + "model-folder-" + std::to_string(::getpid());
};

TEST_F(ModelFolder, IsThePathItselfOrTheModelOfACheckpoint) {
  put("");
  put("run/checkpoints/step-00000100/model");
  EXPECT_EQ(model_folder_of(root_), root_);
  EXPECT_EQ(model_folder_of(root_ + "/run/checkpoints/step-00000100/"), root_ + "/run/checkpoints/step-00000100/model");
  const ModelSettings m = read_hugging_face_config(root_);
  EXPECT_EQ(m.path, root_);
  EXPECT_EQ(m.preset, "none");
  EXPECT_EQ(m.layers, 28);
}

TEST_F(ModelFolder, OfARunIsThatOfItsNewestCheckpoint) {
  for (const char* step : {"step-00000100", "step-00000900", "step-00001000", "step-00002000.partial", "step-3000.left",
                           "step-9", "step-00004000.left"})
    put(std::string("run/checkpoints/") + step + "/model");
  base::make_directories(root_ + "/run/checkpoints/step-00005000/state");
  const std::string newest = root_ + "/run/checkpoints/step-00001000/model";
  EXPECT_EQ(model_folder_of(root_ + "/run"), newest);
  EXPECT_EQ(model_folder_of(root_ + "/run/checkpoints//"), newest);
}

TEST_F(ModelFolder, APathWithoutAModelIsADataErrorThatSaysWhatWasLookedFor) {
  const auto message = [](const std::string& path) -> std::string {
    try {
      model_folder_of(path);
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(root_), AllOf(HasSubstr("holds no model"), HasSubstr("model/config.json (a checkpoint)")));
  EXPECT_THAT(message(root_ + "/absent"), HasSubstr("is not a local folder"));
  EXPECT_NE(message(""), "");
}

TEST_F(ModelFolder, AConfigurationOfManyMegabytesIsNotRead) {
  base::write_file_atomic(root_ + "/config.json", std::string((16 << 20) + 1, ' '));
  EXPECT_THROW(read_hugging_face_config(root_), base::DataError);
}

}  // namespace
}  // namespace troika::config
