// Step programs as files, with real processes: every run leaves its program behind, and an edited one runs or is refused.
#include <gmock/gmock.h>

#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;

class ScheduleFile : public testing::Test {
 protected:
  Words train(const std::string& name, const Words& more) const {
    return small_run(corpus_, folder_ / name) + Words{"--steps", "4", "--log.progress", "none"} + more;
  }

  std::string changed(const std::string& from, const std::string& to) const {
    std::string text = base::read_file(folder_ / "built/program.txt");
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    base::write_file_atomic(folder_ / "changed.txt", text.replace(at, from.size(), to));
    return folder_ / "changed.txt";
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
};

TEST_F(ScheduleFile, ARunLeavesItsProgramThatCanBeEditedAndRun) {
  ASSERT_EQ(run(troika(train("alone", {}))).code, 0);
  const End built = run(launch(2, train("built", {"--pp", "2", "--schedule", "gpipe"})));
  ASSERT_EQ(built.code, 0) << built.output;
  const Rows alone = read_rows(folder_ / "alone");
  ASSERT_EQ(alone.size(), 4u);

  // The last weights' gradients are computed apart.
  const std::string edited = changed("bwd 11.0 |", "bwd_input 11.0 | bwd_weight 11.0 |");
  const End end = run(launch(2, train("edited", {"--pp", "2", "--schedule-file", edited})));
  ASSERT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("schedule " + edited));
  EXPECT_EQ(base::read_file(folder_ / "edited/program.txt"), base::read_file(edited));
  for (const std::string name : {"built", "edited"}) expect_rows(read_rows(folder_ / name), alone, name);

  const Words other{"--pp", "2", "--schedule-file", folder_ / "built/program.txt", "--steps", "6"};
  ASSERT_EQ(run(launch(2, train("edited", other))).code, 0);
  EXPECT_EQ(base::read_file(folder_ / "edited/program-2.txt"), base::read_file(folder_ / "built/program.txt"));
  EXPECT_EQ(read_rows(folder_ / "edited").size(), 6u);
}

TEST_F(ScheduleFile, ABrokenOneEndsTheRunWithCode3AndTheInstruction) {
  ASSERT_EQ(run(launch(2, train("built", {"--pp", "2", "--steps", "1"}))).code, 0);
  const auto expect_refusal = [&](const Words& words, const std::string& sentence) {
    const End end = run(words);
    EXPECT_EQ(end.code, 3) << end.output;
    EXPECT_THAT(end.output, HasSubstr(sentence));
    EXPECT_TRUE(read_rows(folder_ / "refused").empty());
  };
  const auto pipeline = [&](const std::string& file) {
    return launch(2, train("refused", {"--pp", "2", "--schedule-file", file}));
  };
  const auto alone = [&](const std::string& file) { return troika(train("refused", {"--schedule-file", file})); };
  expect_refusal(pipeline(changed("fwd 3.0", "fwdd 3.0")), "instruction 'fwdd 3.0', character 1");
  expect_refusal(pipeline(changed(" | recv_grad 0.0", "")),
                 "'bwd 0.0': no recv_grad of this microbatch precedes it");
  expect_refusal(alone(folder_ / "built/program.txt"), "is for pp 2, but this run has 1");
  expect_refusal(alone(changed("pp 2", "pp two")), "must hold whole numbers");
  expect_refusal(alone(folder_ / "nowhere.txt"), "nowhere.txt");
}

}  // namespace
}  // namespace troika::commands
