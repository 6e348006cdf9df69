// The number of threads never changes the result, at sizes where nearly every operation is cut into several pieces of work.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using Files = std::map<std::string, std::string>;

class ThreadNumbers : public testing::Test {
 protected:
  ThreadNumbers() {
    config::Settings& s = runs_.settings;
    s.model.layers = 2;
    s.model.hidden = 192;
    s.model.heads = 6;
    s.model.head_dim = 32;
    s.model.ffn = 401;
    s.model.vocab = 3001;
    s.batch.seq_len = 160;
    s.batch.micro_batch_size = 3;
    s.batch.global_batch_size = 6;
    s.train.steps = 2;
  }

  // The checkpoint's tensors as bytes.
  Files tensors_of(const std::string& run) const {
    Files files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(runs_.folder(run) + "/checkpoints")) {
      if (entry.path().extension() == ".safetensors")
        files[entry.path().filename().string()] = base::read_file(entry.path().string());
    }
    return files;
  }

  // The first layout on one thread is what all others must repeat, with every number of threads.
  void expect_same_bits(const std::vector<std::string>& layouts) {
    const std::string first = layouts.front() + " alone";
    const Rows want = runs_.train(first, layouts.front() + " threads 1");
    ASSERT_EQ(want.size(), 2u);
    for (const int threads : {2, 3, 5}) {
      for (const std::string& layout : layouts) {
        if (threads == 5 && layout != layouts.front()) continue;
        const std::string name = layout + " threads " + std::to_string(threads);
        expect_equal_rows(runs_.train(name, name), want, name);
        EXPECT_TRUE(layout != layouts.front() || tensors_of(name) == tensors_of(first)) << name;
      }
    }
    EXPECT_FALSE(tensors_of(first).empty());
  }

  LayoutRuns runs_;
};

TEST_F(ThreadNumbers, ChangeNoBitOfLossesNormsAndCheckpoints) {
  expect_same_bits({"", "dp 2 zero 3", "pp 2 zb-h1 recompute full"});
}

class FullThreadNumbers : public ThreadNumbers {};

TEST_F(FullThreadNumbers, ChangeNoBitWhereTensorsAndSequencesAreSplit) {
  expect_same_bits({"tp 2", "tp 2 pp 2"});
  expect_same_bits({"tp 2 plain"});
  expect_same_bits({"cp 2", "cp 2 dp 2 zero 1"});
}

TEST_F(FullThreadNumbers, ChangeNoBitOfHalves) {
  runs_.settings.precision.loss_scale = 256;
  expect_same_bits({"bf16", "bf16 dp 2 zero 2"});
  expect_same_bits({"fp16"});
}

TEST_F(FullThreadNumbers, ChangeNoBitOfGpt2AndOfAnUntiedHead) {
  runs_.settings.model.tie_embeddings = false;
  expect_same_bits({"", "dp 2 offload file"});
  use_gpt2(&runs_.settings);
  expect_same_bits({"stages 1,1", "dp 2 zero 3"});
}

}  // namespace
}  // namespace troika::train
