// Runs that are killed and continue in another layout, with the bits of a run that was left alone.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;

class Resume : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run(troika(small_run(corpus_, folder_ / "alone") + quiet_)).code, 0);
    alone_ = read_rows(folder_ / "alone");
    ASSERT_EQ(alone_.size(), 20u);
  }

  Words train(const Words& more) const { return small_run(corpus_, out_) + quiet_ + more; }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
  const std::string out_ = folder_ / "killed";
  const Words quiet_{"--log.progress", "none", "--checkpoint.every", "2"};
  Rows alone_;
};

// Kills `victim(program)` behind `step`; every process must be gone soon.
template <typename Victim>
End kill_behind(std::int64_t step, const std::string& out, Program& program, const Victim& victim) {
  await_step(out, step);
  const auto processes = program.processes();
  ::kill(victim(program), SIGKILL);
  const End end = program.wait();
  expect_ended(processes);
  return end;
}

TEST_F(Resume, AfterARankWasKilledAnotherLayoutContinuesWithTheSameBits) {
  {
    Program program(launch(3, train({"--pp", "3"})));
    const End end = kill_behind(10, out_, program, [](const Program& p) { return p.rank(2); });
    EXPECT_EQ(end.code, 75);
    EXPECT_THAT(end.output, HasSubstr("was killed by signal 9"));
  }
  const std::size_t reached = read_rows(out_).size();
  EXPECT_GE(reached, 10u);
  EXPECT_LT(reached, 20u);
  {
    Program program(launch(4, train({"--dp", "2", "--pp", "2"})));
    const End end = kill_behind(15, out_, program, [](const Program& p) { return p.rank(1); });
    EXPECT_EQ(end.code, 75);
    EXPECT_THAT(end.output, HasSubstr("resumed from step "));
  }
  const End end = run(troika(train({})));
  EXPECT_EQ(end.code, 0) << end.output;
  expect_rows(read_rows(out_), alone_, "killed twice");
}

TEST_F(Resume, AfterTheLauncherWasKilledNothingRunsOnAndAnotherLayoutContinues) {
  {
    Program program(launch(2, train({"--dp", "2"})));
    const End end = kill_behind(10, out_, program, [](const Program& p) { return p.pid(); });
    EXPECT_EQ(end.code, 1000 + SIGKILL);
  }
  const End end = run(launch(3, train({"--pp", "3", "--schedule", "gpipe"})));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("resumed from step "));
  expect_rows(read_rows(out_), alone_, "launcher killed");
}

TEST_F(Resume, NeverBeginsAnewButARestartGoesOnFromWhatItsLaunchSaved) {
  ASSERT_EQ(run(troika(train({"--steps", "4", "--seed", "9"}))).code, 0);  // an earlier run in the same folder
  Words words = launch(2, train({"--dp", "2", "--resume", "never"}));
  words.insert(std::find(words.begin(), words.end(), "--"), {"--max-restarts", "1"});
  Program program(words);
  await_step(out_, 5);
  ::kill(program.rank(1), SIGKILL);
  const End end = program.wait();
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("restart 1 of 1"));
  EXPECT_THAT(end.output, HasSubstr("resumed from step "));
  expect_rows(read_rows(out_), alone_, "restarted");
}

TEST_F(Resume, CtrlCSavesAndEndsWith130) {
  {
    Program program(launch(3, train({"--pp", "3", "--checkpoint.every", "0"})));
    await_step(out_, 5);
    const auto processes = program.processes();
    program.signal(SIGINT);
    program.signal(SIGINT);  // as `timeout` does: one request, sent twice
    const End end = program.wait();
    EXPECT_EQ(end.code, 130) << end.output;
    EXPECT_THAT(end.output, HasSubstr("stopping after this step"));
    expect_ended(processes);
  }
  const std::size_t reached = read_rows(out_).size();
  ASSERT_LT(reached, 20u);
  ASSERT_EQ(checkpoints(out_).size(), 1u);
  EXPECT_THAT(checkpoints(out_).front(), HasSubstr(std::to_string(reached)));
  const End end = run(launch(2, train({"--dp", "2"})));
  EXPECT_THAT(end.output, HasSubstr("resumed from step " + std::to_string(reached)));
  expect_rows(read_rows(out_), alone_, "interrupted");
}

// The signals that schedulers send before the time limit: SIGUSR1 to a task of SLURM, SIGUSR2 to anything.
TEST_F(Resume, SignalsOfASchedulerSaveAndEndWith130) {
  const Variables task{
      {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}};
  for (const bool by_launcher : {false, true}) {
    base::remove_tree(out_);
    const Words endless = train({"--steps", "100000", "--checkpoint.every", "0"});
    Program program(by_launcher ? launch(2, endless + Words{"--dp", "2"}) : troika(endless),
                    by_launcher ? Variables{} : task);
    await_step(out_, 3);
    program.signal(by_launcher ? SIGUSR2 : SIGUSR1);
    const End end = program.wait();
    EXPECT_EQ(end.code, 130) << end.output;
    EXPECT_EQ(checkpoints(out_).size(), 1u);
  }
}

// With steps so long that none would end within the time.
TEST_F(Resume, ASecondCtrlCEndsAtOnce) {
  const Words endless = train({"--global-batch-size", "24000"});
  for (const int ranks : {2, 1}) {
    base::remove_tree(out_);
    Program program(ranks == 2 ? launch(2, endless + Words{"--dp", "2"}) : troika(endless));
    for (int rank = 0; rank < ranks; ++rank) await_steps(out_, rank);
    const auto processes = program.processes();
    program.signal(SIGINT);
    program.await_output(ranks == 2 ? "; repeat to stop immediately" : "; interrupt again to stop at once");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // closer together they count as one
    const double second = base::monotonic_seconds();
    program.signal(SIGINT);
    const End end = program.wait();
    EXPECT_EQ(end.code, 130);
    EXPECT_LT(end.when - second, 2);
    expect_ended(processes);
    EXPECT_TRUE(checkpoints(out_).empty());
  }
}

TEST_F(Resume, AnOlderCheckpointOrANewBeginningLeavesNoLaterOneToBeTakenForTheNewest) {
  ASSERT_EQ(run(troika(train({"--checkpoint.keep", "3"}))).code, 0);  // 16, 18, 20
  const std::string older = out_ + "/checkpoints/step-00000016";
  ASSERT_EQ(run(troika(train({"--resume", older, "--steps", "18"}))).code, 0);
  EXPECT_THAT(checkpoints(out_), testing::ElementsAre("step-00000016", "step-00000018", "step-00000020.left"));
  EXPECT_THAT(run(troika(train({}))).output, HasSubstr("resumed from step 18 "));
  ASSERT_EQ(run(troika(train({"--resume", "never", "--steps", "4"}))).code, 0);
  EXPECT_THAT(checkpoints(out_), testing::Contains("step-00000018.left"));
  EXPECT_THAT(run(troika(train({}))).output, HasSubstr("resumed from step 4 "));
  expect_rows(read_rows(out_), read_rows(out_), "each step once");
}

}  // namespace
}  // namespace troika::commands
