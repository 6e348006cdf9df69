// Checkpoints that are damaged or gone when a run wants to continue.
#include <gmock/gmock.h>

#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;

class DamagedCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run(troika(train({"--steps", "10"}))).code, 0);
    ASSERT_THAT(checkpoints(out_), testing::ElementsAre("step-00000005", "step-00000010"));
  }

  // The layout below has a part per stage.
  Words train(const Words& more) const {
    return small_run(corpus_, out_) + Words{"--log.progress", "none", "--checkpoint.every", "5"} + more;
  }

  std::string part(const std::string& step) const {
    return out_ + "/checkpoints/" + step + "/state/state-00001-of-00001.safetensors";
  }

  static void flip_byte(const std::string& path) {
    std::string content = base::read_file(path);
    content[content.size() - 100] ^= 1;
    base::write_file_atomic(path, content);
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_), out_ = folder_ / "run";
};

TEST_F(DamagedCheckpoint, IsPassedOverWithASentenceAndTheOneBeforeIsUsed) {
  flip_byte(part("step-00000010"));
  const End end = run(launch(2, train({"--pp", "2", "--steps", "7"})));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("skipping step-00000010: part state/state-00001-of-00001.safetensors is "
                                          "damaged (its hash differs)"),
                                HasSubstr("resumed from step 5 ")));
  EXPECT_EQ(read_rows(out_).size(), 7u);
}

TEST_F(DamagedCheckpoint, WithAMissingPartIsPassedOver) {
  base::remove_tree(part("step-00000010"));
  const End end = run(troika(train({"--steps", "7"})));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("skipping step-00000010: part state/state-00001-of-00001.safetensors is "
                                          "missing"),
                                HasSubstr("resumed from step 5 ")));
}

TEST_F(DamagedCheckpoint, WhenThereIsNoOtherIsAnErrorThatTouchesNothing) {
  flip_byte(part("step-00000010"));
  base::remove_tree(part("step-00000005"));
  const std::string metrics = base::read_file(out_ + "/metrics.jsonl");
  for (const Words& words : {troika(train({})), launch(2, train({"--dp", "2"}))}) {
    const End end = run(words);
    EXPECT_EQ(end.code, 3) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr("no checkpoint in '"), HasSubstr("--resume never"),
                                  HasSubstr("step-00000010: part state/"), HasSubstr("step-00000005: part state/")));
    EXPECT_EQ(base::read_file(out_ + "/metrics.jsonl"), metrics);
    EXPECT_THAT(checkpoints(out_), testing::ElementsAre("step-00000005", "step-00000010"));
  }
  const End end = run(troika(train({"--resume", "never", "--steps", "2"})));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_EQ(read_rows(out_).size(), 2u);
}

TEST_F(DamagedCheckpoint, ThatWasNamedIsAnError) {
  flip_byte(part("step-00000010"));
  const End damaged = run(troika(train({"--resume", out_ + "/checkpoints/step-00000010"})));
  EXPECT_EQ(damaged.code, 3);
  EXPECT_THAT(damaged.output, HasSubstr("damaged"));
  const End missing = run(launch(2, train({"--dp", "2", "--resume", folder_ / "nowhere"})));
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.output, HasSubstr("nowhere' on any host"));
}

TEST_F(DamagedCheckpoint, OfAnotherModelIsAnErrorWithBothShapes) {
  const std::string metrics = base::read_file(out_ + "/metrics.jsonl");
  const End end = run(troika(train({"--model.ffn", "96"})));
  EXPECT_EQ(end.code, 2) << end.output;
  EXPECT_THAT(end.output, HasSubstr("has model.ffn 64, this one 96: resume with 64"));
  const End shorter = run(troika(train({"--model.layers", "1"})));
  EXPECT_EQ(shorter.code, 2) << shorter.output;
  EXPECT_THAT(shorter.output,
              AllOf(HasSubstr("has model.layers "), HasSubstr("this one 1: "), HasSubstr("--model.path")));
  EXPECT_EQ(base::read_file(out_ + "/metrics.jsonl"), metrics);
}

}  // namespace
}  // namespace troika::commands
