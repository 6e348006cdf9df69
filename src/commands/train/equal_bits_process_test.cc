// What --reproducible says when bits cannot be equal: `bits` refuses before the first step, `run` says so, `off` is silent.
#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;
using testing::Not;

// A copy of the C++ library, which every program here has, under a name that counts as a library for matrices.
std::string library_called_like_a_blas(const Folder& folder) {
  const std::string copy = folder / "libother_blas.so";
  for (const std::string& line : base::split(base::read_file("/proc/self/maps"), '\n')) {
    if (line.find("/libstdc++.so") == std::string::npos) continue;
    base::write_file_atomic(copy, base::read_file(line.substr(line.find('/'))));
    return copy;
  }
  throw base::BugError("this test found no C++ library to copy");
}

class EqualBits : public testing::Test {
 protected:
  Words train(const std::string& name, const Words& more) const {
    return small_run(corpus_, folder_ / name) + Words{"--log.progress", "none", "--steps", "2"} + more;
  }

  // Two ranks, of which the second has `more` in its environment; what rank 0 says.
  End beside(const Variables& more, const std::string& name, const std::string& reproducible) const {
    const Words words = troika(train(name, {"--dp", "2", "--reproducible", reproducible}));
    const int port = free_port();
    Variables second = as_torchrun(1, 2, port);
    second.insert(more.begin(), more.end());
    Program other(words, second);
    const End end = run(words, as_torchrun(0, 2, port));
    EXPECT_EQ(other.wait().code, end.code);
    return end;
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
};

TEST_F(EqualBits, RanksWithUnequalLibrariesAreRemarkedOnRefusedOrLetBe) {
  const Variables more{{"LD_PRELOAD", library_called_like_a_blas(folder_)},
                       {"ASAN_OPTIONS", "verify_asan_link_order=0"}};  // which wants to be the first library
  const std::string unequal = "the library for matrices is '";
  const End noted = beside(more, "run", "run"), refused = beside(more, "bits", "bits"),
            ignored = beside(more, "off", "off");
  EXPECT_EQ(noted.code, 0) << noted.output;
  EXPECT_THAT(noted.output, HasSubstr("note: " + unequal));
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr(unequal));
  EXPECT_THAT(refused.output, HasSubstr("parallel.reproducible=bits refuses"));
  EXPECT_TRUE(read_rows(folder_ / "bits").empty());
  EXPECT_EQ(ignored.code, 0) << ignored.output;
  EXPECT_THAT(ignored.output, Not(HasSubstr("library")));
}

TEST_F(EqualBits, RanksWithUnequalThreadsAreWelcomeToBits) {
  const End end = beside({{"OMP_NUM_THREADS", "3"}}, "threads", "bits");
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
