// What --reproducible says when bits cannot be equal: `bits` refuses before the first step, `run` says so, `off` is silent.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;
using testing::Not;

// This program as another build may be: with a byte more at its end.
std::string another_build(const Folder& folder) {
  const std::string copy = folder / "troika";
  base::write_file_atomic(copy, base::read_file(troika({}).front()) + "x");
  std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
  return copy;
}

class EqualBits : public testing::Test {
 protected:
  Words train(const std::string& name, const Words& more) const {
    return small_run(corpus_, folder_ / name) + Words{"--log.progress", "none", "--steps", "2"} + more;
  }

  // Two ranks, of which the second is this program and has `more` in its environment; what rank 0 says.
  End beside(const std::string& program, const Variables& more, const std::string& name, const std::string& reproducible) const {
    Words words = troika(train(name, {"--dp", "2", "--reproducible", reproducible}));
    const int port = free_port();
    Variables second = as_torchrun(1, 2, port);
    second.insert(more.begin(), more.end());
    Words others = words;
    others.front() = program;
    Program other(others, second);
    const End end = run(words, as_torchrun(0, 2, port));
    EXPECT_EQ(other.wait().code, end.code);
    return end;
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
};

TEST_F(EqualBits, RanksOfUnequalBuildsAreRemarkedOnRefusedOrLetBe) {
  const std::string other = another_build(folder_), unequal = "the program's fingerprint is '";
  const End noted = beside(other, {}, "run", "run"), refused = beside(other, {}, "bits", "bits"),
            ignored = beside(other, {}, "off", "off");
  EXPECT_EQ(noted.code, 0) << noted.output;
  EXPECT_THAT(noted.output, HasSubstr("note: " + unequal));
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr(unequal));
  EXPECT_THAT(refused.output, HasSubstr("parallel.reproducible=bits does not allow"));
  EXPECT_TRUE(read_rows(folder_ / "bits").empty());
  EXPECT_EQ(ignored.code, 0) << ignored.output;
  EXPECT_THAT(ignored.output, Not(HasSubstr("fingerprint")));
}

TEST_F(EqualBits, RanksWithUnequalThreadsAreWelcomeToBits) {
  const End end = beside(troika({}).front(), {{"OMP_NUM_THREADS", "3"}}, "threads", "bits");
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, Not(HasSubstr("on rank 0 but")));
  EXPECT_EQ(run(troika(train("alone", {}))).code, 0);
  expect_rows(read_rows(folder_ / "threads"), read_rows(folder_ / "alone"), "one and three threads");
}

TEST_F(EqualBits, EqualRanksAreWelcomeToBits) {
  const End end = run(launch(2, train("alike", {"--pp", "2", "--reproducible", "bits"})));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, Not(HasSubstr("on rank 0 but")));
}

TEST_F(EqualBits, SplitTensorsAndSequencesAreRefusedByBits) {
  for (const std::string axis : {"tp", "cp"}) {
    const End end = run(launch(2, train("split", {"--" + axis, "2", "--reproducible", "bits"})));
    EXPECT_EQ(end.code, 2);
    EXPECT_THAT(end.output, HasSubstr("parallel.reproducible=bits does not allow " + axis + " 2"));
  }
}

TEST_F(EqualBits, ACheckpointWhoseSumsWereCutOtherwiseIsRefusedByBitsAndLeftAsItIs) {
  ASSERT_EQ(run(troika(train("moved", {}))).code, 0);
  const Words other = train("moved", {"--steps", "4", "--micro-batch-size", "2"});
  const std::string changed = "batch.micro_batch_size changed from 1 to 2";
  const End refused = run(troika(other + Words{"--reproducible", "bits"}));
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr(changed));
  EXPECT_EQ(read_rows(folder_ / "moved").size(), 2u);
  const End noted = run(troika(other));
  EXPECT_EQ(noted.code, 0) << noted.output;
  EXPECT_THAT(noted.output, HasSubstr(changed));
  EXPECT_EQ(read_rows(folder_ / "moved").size(), 4u);
}

}  // namespace
}  // namespace troika::commands
