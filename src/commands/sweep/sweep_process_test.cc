// Layouts as real processes over a small model: one fails, one hangs, the sweep is killed and continues.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "base/text.h"
#include "commands/cli.h"
#include "commands/sweep/layout_run.h"
#include "config/config.h"
#include "sweep/row.h"
#include "sweep/sweep_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

bool await_sweep(double seconds, const std::function<bool()>& ready) {
  const double until = base::monotonic_seconds() + seconds;
  while (!ready()) {
    if (base::monotonic_seconds() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

planner::Estimate estimate_of(const planner::Layout& layout, double step_seconds) {
  planner::Estimate estimate;
  estimate.layout = layout;
  estimate.layout.global = 12;
  estimate.tokens = 12 * 16;
  estimate.time.step = step_seconds;
  estimate.memory.at_once = 1 << 20;
  return estimate;
}

// dp 2, cp 2 (hangs), tp 2 (fails), pp 2, on two ranks of a small model.
class SmallSweep : public testing::Test {
 protected:
  SmallSweep() {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += fmt::format("line {} of the corpus\n", i * i % 977);
    base::write_file_atomic(at("corpus.txt"), text);
    base::write_file_atomic(at("rank.sh"),
                            fmt::format("#!/bin/sh\n"
                                        "case \" $* \" in\n"
                                        "*' --tp 2 '*) [ \"$RANK\" = 1 ] || exec sleep 100\n"
                                        "  echo 'tp is not for today' >&2; exit 3 ;;\n"
                                        "*' --cp 2 '*) echo > '{}'; trap '' INT TERM\n"
                                        "  while :; do sleep 1; done ;;\n"
                                        "esac\n"
                                        "exec {}/troika \"$@\"\n",
                                        at("hangs"), TROIKA_BINARY_DIR));
    ::chmod(at("rank.sh").c_str(), 0755);
    planner::Layout dp2 = sweep::layout_with(2, 1), pp2 = sweep::layout_with(1, 2), tp2 = sweep::layout_with(1, 1), cp2 = tp2;
    tp2.tp = cp2.cp = 2;
    plan_.estimates = {estimate_of(dp2, 0.1), estimate_of(cp2, 0.2), estimate_of(tp2, 0.3), estimate_of(pp2, 0.4)};
    const config::Settings settings = config::parse_settings({"--data.train",        at("corpus.txt"),
                                                              "--data.tokenizer",    "bytes",
                                                              "--seq-len",           "16",
                                                              "--global-batch-size", "12",
                                                              "--micro-batch-size",  "1",
                                                              "--model.layers",      "4",
                                                              "--model.hidden",      "32",
                                                              "--model.heads",       "2",
                                                              "--model.kv-heads",    "1",
                                                              "--model.head-dim",    "16",
                                                              "--model.ffn",         "64",
                                                              "--model.vocab",       "259"},
                                                             {})
                                          .settings;
    plan_.host.folder = at("sweep");
    plan_.host.settings = measuring_settings(settings, 4, plan_.host.folder);
    plan_.host.nproc = 2;
    plan_.host.environment = {{"PATH", "/usr/bin:/bin"}, {"OMP_NUM_THREADS", "1"}, {"PP_SIZE", "7"}, {"NNODES", "3"}};
    plan_.host.environment[mark_] = folder_.path();
    plan_.host.troika = TROIKA_BINARY_DIR "/troika";
    plan_.host.program = at("rank.sh");
    plan_.host.deadline_seconds = 600;
  }

  ~SmallSweep() override {
    if (sweep_ <= 0) return;
    ::kill(sweep_, SIGKILL);
    ::waitpid(sweep_, nullptr, 0);
  }

  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }

  // In a process of its own: 0, 130 when interrupted, or the code of an error.
  void start() {
    base::remove_tree(at("hangs"));
    start([&] {
      host::Signals signals;
      SweepRounds rounds(plan_.host, signals);
      sweep::SweepProgress progress(stderr, metrics::ProgressStyle::lines, plan_.estimates.size(), base::Language::english);
      return run_layouts(plan_, rounds, signals, progress).end.exit_code;
    });
  }

  void start(const std::function<int()>& run) {
    sweep_ = ::fork();
    if (sweep_ == 0) ::_exit(guarded(run));
  }

  int wait() {
    int status = 0;
    EXPECT_TRUE(await_sweep(240, [&] { return ::waitpid(sweep_, &status, WNOHANG) == sweep_; }));
    sweep_ = -1;
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  void await_hanging() {
    EXPECT_TRUE(await_sweep(120, [&] { return base::file_exists(at("hangs")); })) << "cp 2 was not started";
  }

  sweep::SweepRows rows() const { return sweep::parse_csv(base::read_file(plan_.host.folder + "/summary.csv"), "summary.csv"); }

  std::vector<sweep::SweepStatus> statuses() const {
    std::vector<sweep::SweepStatus> found;
    for (const sweep::SweepRow& row : rows()) found.push_back(row.status);
    return found;
  }

  void expect_nothing_left() const {
    const auto left = [&] {
      for (const std::string& pid : base::list_directory("/proc")) {
        std::int64_t number = 0;
        if (!base::parse_int(pid, &number) || number == ::getpid()) continue;
        try {
          const std::string environment = base::read_file("/proc/" + pid + "/environ");
          if (environment.find(mark_ + "=" + folder_.path()) != std::string::npos) return true;
        } catch (const base::DataError&) {  // gone, or a zombie
        }
      }
      return false;
    };
    EXPECT_TRUE(await_sweep(10, [&] { return !left(); })) << "a process of the sweep is left";
  }

  const base::TemporaryFolder folder_;
  const std::string mark_ = "TROIKA_SWEEP_TEST";
  SweepPlan plan_;
  pid_t sweep_ = -1;
};

class FullSmallSweep : public SmallSweep {};

TEST_F(FullSmallSweep, GoesOnAfterItWasKilledAndFailuresAreRows) {
  start();
  await_hanging();
  ::kill(sweep_, SIGKILL);
  EXPECT_EQ(wait(), 1000 + SIGKILL);
  expect_nothing_left();
  ASSERT_THAT(statuses(), ElementsAre(sweep::SweepStatus::ok));
  const sweep::SweepRow first = rows()[0];
  EXPECT_GT(first.measured->step_seconds, 0);
  EXPECT_GT(first.measured->memory_bytes, 0);
  EXPECT_GT(first.measured->resident_bytes, first.measured->memory_bytes);
  EXPECT_NEAR(first.measured->tokens_per_second * first.measured->step_seconds, 192, 1e-6);

  plan_.host.deadline_seconds = 20;
  for (planner::Estimate& estimate : plan_.estimates) estimate.time.step *= 2;
  start();
  await_hanging();
  EXPECT_EQ(wait(), 0);
  expect_nothing_left();
  ASSERT_THAT(statuses(), ElementsAre(sweep::SweepStatus::ok, sweep::SweepStatus::timeout, sweep::SweepStatus::failed, sweep::SweepStatus::ok));
  const sweep::SweepRows all = rows();
  EXPECT_EQ(all[0].seconds, first.seconds) << "it was run again";
  EXPECT_EQ(all[0].predicted.step_seconds, 0.2) << "the prediction is not today's";
  EXPECT_THAT(all[1].reason.english, HasSubstr("did not end within 20.0 s"));
  EXPECT_LT(all[1].seconds, 60);
  EXPECT_THAT(all[2].reason.english, AllOf(HasSubstr("code 3"), HasSubstr("tp is not for today")));
  EXPECT_EQ(all[3].measured->loss_bits, all[0].measured->loss_bits) << "layouts of equal bits";
  EXPECT_TRUE(
      base::list_directory(plan_.host.folder + "/runs/" + folder_name_of(all[0].layout) + "/checkpoints").empty());

  const std::string table = base::read_file(plan_.host.folder + "/summary.csv");
  start();
  EXPECT_EQ(wait(), 0);
  EXPECT_EQ(base::read_file(plan_.host.folder + "/summary.csv"), table);

  plan_.host.settings.batch.seq_len = 32;
  start();
  EXPECT_EQ(wait(), 2);
}

TEST_F(SmallSweep, EndsTheRunningLayoutAtCtrlC) {
  start();
  await_hanging();
  ::kill(sweep_, SIGINT);
  EXPECT_EQ(wait(), 130);
  expect_nothing_left();
  EXPECT_THAT(statuses(), ElementsAre(sweep::SweepStatus::ok, sweep::SweepStatus::interrupted));
}

TEST_F(SmallSweep, OfTheProgramFindsItsLayoutsAndWritesTheBestForTraining) {
  config::Settings training = plan_.host.settings;
  training.train = config::TrainSettings{};
  training.train.steps = 60;
  training.train.out = at("training");
  training.data.cache.clear();
  base::write_file_atomic(at("training.yaml"), config::to_yaml(training));
  std::string troika = TROIKA_BINARY_DIR "/troika", path = "PATH=/usr/bin:/bin";
  std::vector<std::string> words = {
      "troika",         "sweep", at("training.yaml"),   "--nproc", "2",      "--steps", "3",
      "--zero",         "1",     "--precision.compute", "fp32",    "--best", "2",       "--out",
      plan_.host.folder};
  std::vector<char*> arguments, variables{path.data(), nullptr};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  start([&] { return ::execve(troika.c_str(), arguments.data(), variables.data()); });
  EXPECT_EQ(wait(), 0);
  EXPECT_THAT(statuses(), ElementsAre(sweep::SweepStatus::ok, sweep::SweepStatus::ok));
  for (const sweep::SweepRow& row : rows()) EXPECT_EQ(row.layout.zero, 1);
  for (const char* name : {"throughput", "memory", "shares"})
    EXPECT_THAT(base::read_file(plan_.host.folder + "/plots/" + name + ".svg"), HasSubstr("</svg>"));
  const config::Settings best = config::parse_settings({plan_.host.folder + "/best.yaml"}, {}).settings;
  EXPECT_EQ(best.parallel.zero, 1);
  EXPECT_EQ(best.train.steps, 60) << "the training's, not the sweep's";
  EXPECT_EQ(best.train.out, at("training"));
}

}  // namespace
}  // namespace troika::commands
