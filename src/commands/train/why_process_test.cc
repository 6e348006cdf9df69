// `troika why` on folders of real runs, and what the launcher says of the cause by itself.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class WhyOfARun : public testing::Test {
 protected:
  Words train(const Words& more) const {
    return small_run(corpus_, out_) + Words{"--log.progress", "none", "--log.sample-seconds", "0.5"} + more;
  }
  std::string cause() const {
    const End end = run(troika({"why", out_, "--json"}));
    EXPECT_EQ(end.code, 0) << end.output;
    return nlohmann::json::parse(end.output).at("cause");
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_), out_ = folder_ / "run";
};

TEST_F(WhyOfARun, ThatEndsWellIsNoneAndTheLauncherSaysNothing) {
  const End end = run(launch(2, train({"--pp", "2"})));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, Not(HasSubstr("cause: ")));
  EXPECT_EQ(cause(), "none");
}

TEST_F(WhyOfARun, ThatIsKilledIsExplainedByTheLauncherInTheLanguageOfTheLocale) {
  Program program(launch(2, train({"--pp", "2", "--steps", "100000"})), {{"LANG", "zh_CN.UTF-8"}});
  await_step(out_, 5);
  ::kill(program.rank(1), SIGILL);
  const End end = program.wait();
  EXPECT_EQ(end.code, 75) << end.output;
  EXPECT_THAT(end.output, HasSubstr("原因: 程序是为另一种处理器编译的 (wrong_processor)"));
  EXPECT_EQ(cause(), "wrong_processor");
}

TEST_F(WhyOfARun, ThatIsStoppedOnRequestIsNone) {
  Program program(launch(2, train({"--pp", "2", "--steps", "100000"})));
  await_step(out_, 5);
  program.signal(SIGINT);
  const End end = program.wait();
  EXPECT_EQ(end.code, 130) << end.output;
  EXPECT_THAT(end.output, Not(HasSubstr("cause: ")));
  EXPECT_EQ(cause(), "none");
}

TEST_F(WhyOfARun, OfOneProcessThatIsAskedTwiceHasBeenStopped) {
  Program program(troika(train({"--steps", "100000"})));
  await_step(out_, 5);
  program.signal(SIGINT);
  program.await_output("interrupt again to stop at once");
  std::this_thread::sleep_for(std::chrono::milliseconds(400));  // sooner it counts as the same request
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().code, 130);
  EXPECT_EQ(cause(), "none");
}

TEST_F(WhyOfARun, WhoseProcessesAreAllKilledWasKilledFromOutside) {
  Program program(troika(train({"--steps", "100000"})));
  await_step(out_, 5);
  ::kill(program.pid(), SIGKILL);
  program.wait();
  EXPECT_EQ(cause(), "killed_from_outside");
}

}  // namespace
}  // namespace troika::commands
