// What --reproducible says when bits cannot be equal: `bits` refuses before the first step, `run` says so, `off` is silent.
#include <gmock/gmock.h>

#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;
using testing::Not;

class EqualBits : public testing::Test {
 protected:
  Words train(const std::string& name, const Words& more) const {
    return small_run(corpus_, folder_ / name) + Words{"--log.progress", "none", "--steps", "2"} + more;
  }

  // Two ranks, of which the second may use two threads; what rank 0 says.
  End with_unequal_threads(const std::string& reproducible) const {
    const Words words = troika(train(reproducible, {"--dp", "2", "--reproducible", reproducible}));
    const int port = free_port();
    Variables second = as_torchrun(1, 2, port);
    second["OMP_NUM_THREADS"] = "2";
    Program other(words, second);
    const End end = run(words, as_torchrun(0, 2, port));
    EXPECT_EQ(other.wait().code, end.code);
    return end;
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
};

TEST_F(EqualBits, RanksWithUnequalThreadsAreRemarkedOnRefusedOrLetBe) {
  const std::string unequal = "the number of threads is '1' on rank 0 but '2' on rank 1";
  const End noted = with_unequal_threads("run"), refused = with_unequal_threads("bits"),
            ignored = with_unequal_threads("off");
  EXPECT_EQ(noted.code, 0) << noted.output;
  EXPECT_THAT(noted.output, HasSubstr("note: " + unequal));
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr(unequal));
  EXPECT_THAT(refused.output, HasSubstr("parallel.reproducible=bits refuses"));
  EXPECT_TRUE(read_rows(folder_ / "bits").empty());
  EXPECT_EQ(ignored.code, 0) << ignored.output;
  EXPECT_THAT(ignored.output, Not(HasSubstr("threads")));
}

TEST_F(EqualBits, EqualRanksAreWelcomeToBits) {
  const End end = run(launch(2, train("alike", {"--pp", "2", "--reproducible", "bits"})));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, Not(HasSubstr("note:")));
}

TEST_F(EqualBits, SplitTensorsAndSequencesAreRefusedByBits) {
  for (const std::string axis : {"tp", "cp"}) {
    const End end = run(launch(2, train("split", {"--" + axis, "2", "--reproducible", "bits"})));
    EXPECT_EQ(end.code, 2);
    EXPECT_THAT(end.output, HasSubstr("parallel.reproducible=bits refuses " + axis + " 2"));
  }
}

TEST_F(EqualBits, ACheckpointWhoseSumsWereCutOtherwiseIsRefusedByBitsAndLeftAsItIs) {
  ASSERT_EQ(run(troika(train("moved", {}))).code, 0);
  const Words other = train("moved", {"--steps", "4", "--micro-batch-size", "2"});
  const std::string changed = "batch.micro_batch_size was 1 and is 2";
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
