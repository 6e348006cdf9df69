#include "serve/catalog.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/say.h"
#include "host/process.h"
#include "host/subprocess.h"
#include "serve/served_runs_test_support.h"

namespace troika::serve {
namespace {
using records::EventKind;
using records::Life;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Catalog : public testing::Test {
 protected:
  RunSummary now(const std::string& name) const {
    served.catalog.look_again();
    return served.catalog.summary_of(name);
  }
  static void touch(const std::string& path, double time) {
    const timespec at{static_cast<time_t>(time), 0};
    const timespec times[2] = {at, at};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  const ServedRuns served;
};

TEST_F(Catalog, SaysWhatARunIsAndHowFarItHasCome) {
  served.make_run("a");
  const RunSummary run = now("a");
  EXPECT_EQ(run.state, "finished");
  EXPECT_EQ(run.step, 3);
  EXPECT_EQ(run.steps, 10);
  EXPECT_EQ(run.tokens, 300);
  EXPECT_DOUBLE_EQ(run.loss, 3.5);
  EXPECT_DOUBLE_EQ(run.tokens_per_second, 200);
  EXPECT_TRUE(std::isnan(run.valid_loss));
  EXPECT_EQ(run.ranks, 1);
  EXPECT_THAT(run.hosts, ElementsAre(base::host_name()));
  EXPECT_THAT(run.can, ElementsAre());
  const nlohmann::json json = nlohmann::json::parse(to_json(run, base::Language::english));
  EXPECT_TRUE(json["valid_loss"].is_null());
  EXPECT_EQ(json["model"], "tiny: 4 layers");
}

TEST_F(Catalog, TheOneThatBeganLastComesFirst) {
  served.make_run("a", [](records::RunState& state) { state.began = 1000; });
  served.make_run("b", [](records::RunState& state) { state.began = 3000; });
  served.make_run("c/d", [](records::RunState& state) { state.began = 2000; });
  std::vector<std::string> names;
  for (const RunSummary& run : served.catalog.list()) names.push_back(run.name);
  EXPECT_THAT(names, ElementsAre("b", "c/d", "a"));
  EXPECT_EQ(served.catalog.folder_of("c/d"), served / "c/d");
  EXPECT_THAT(refusal_of([&] { served.catalog.folder_of("../a"); }), HasSubstr("404"));
  EXPECT_FALSE(served.catalog.known_folder_of("e"));
}

TEST_F(Catalog, WhyARunCannotBeReadIsToldInTheLanguageOfTheReader) {
  RunSummary run;
  run.text = base::text_of(base::DataError(base::Text{"cannot open 'a'", "无法打开“a”"}));
  run.exit_code = 3;
  const auto told = [&](base::Language language) { return nlohmann::json::parse(to_json(run, language)); };
  EXPECT_EQ(told(base::Language::english)["text"], "cannot open 'a'");
  EXPECT_EQ(told(base::Language::chinese)["text"], "无法打开“a”");
  EXPECT_EQ(told(base::Language::chinese)["exit_code"], 3);
}

TEST_F(Catalog, ARunThatHasDiedWithoutAWordIsSilent) {
  const std::string folder = served.make_run("a", [](records::RunState& state) { state.life = Life::training; });
  EXPECT_EQ(now("a").state, "training");
  for (const char* file : {"/state.json", "/metrics.jsonl"}) touch(folder + file, base::wall_seconds() - 60);
  EXPECT_EQ(now("a").state, "silent");
}

TEST_F(Catalog, ALauncherThatLivesMakesARunOneThatCanBeStopped) {
  const std::string folder = served.make_run("a", [](records::RunState& state) {
    state.life = Life::stopped;
    state.text = "stopped";
  });
  base::write_file_atomic(folder + "/config.yaml", "train:\n  steps: 10\n");
  EXPECT_EQ(now("a").state, "stopped");
  EXPECT_THAT(now("a").can, ElementsAre("resume"));
  served.add_event(folder, EventKind::launch, base::wall_seconds(),
                   {{"pid", ::getpid()}, {"process_start", host::process_start(::getpid())}});
  EXPECT_THAT(now("a").can, ElementsAre("resume")) << "this process does not write it";
  served.program_is("cd \"$1\"; exec 9> launch.lock; read line");
  host::Command command{{served.options.program, folder}, {}};
  command.input = host::Stream::pipe();
  host::Subprocess launcher(command);
  const std::string lock = folder + "/launch.lock";
  for (const double until = base::monotonic_seconds() + 20; !base::file_exists(lock); ::usleep(10'000))
    ASSERT_LT(base::monotonic_seconds(), until);
  served.add_event(folder, EventKind::launch, base::wall_seconds(),
                   {{"pid", launcher.pid()}, {"process_start", host::process_start(launcher.pid())}});
  EXPECT_EQ(now("a").state, "preparing");
  EXPECT_THAT(now("a").can, ElementsAre("stop"));
}

TEST_F(Catalog, WhatCanBeResumedAndExportedFollowsFromCheckpoints) {
  const std::string folder = served.make_run("a");
  base::write_file_atomic(folder + "/config.yaml", "train:\n  steps: 10\n");
  served.add_checkpoint(folder, "step-00000010");
  EXPECT_THAT(now("a").can, ElementsAre("export"));
  served.add_checkpoint(folder, "step-00000005");
  base::make_directories(folder + "/checkpoints/step-00000007");  // without a manifest
  EXPECT_THAT(now("a").can, ElementsAre("resume", "export"));
}

TEST_F(Catalog, ARunThatIsOverIsReadAgainWhenItsFilesChange) {
  const std::string folder = served.make_run("a");
  EXPECT_EQ(now("a").step, 3);
  served.add_row(folder, 4);
  EXPECT_EQ(now("a").step, 4);
}

TEST_F(Catalog, ANewRunIsFoundByItsNameAtOnce) {
  double seconds = 100;
  const RunCatalog catalog(served.options, [&] { return seconds; });
  EXPECT_TRUE(catalog.list().empty());
  served.make_run("later");
  seconds += 0.25;
  EXPECT_TRUE(catalog.list().empty());
  EXPECT_EQ(catalog.folder_of("later"), served / "later");
}

TEST_F(Catalog, IsAskedBySeveralThreadsAtOnce) {
  for (const char* name : {"a", "b", "c"}) served.make_run(name);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        served.catalog.look_again();
        EXPECT_EQ(served.catalog.list().size(), 3u);
        EXPECT_EQ(served.catalog.folder_of("b"), served / "b");
        EXPECT_TRUE(served.catalog.known_folder_of("a"));
        EXPECT_THAT(served.catalog.openmetrics(exporters::TextFormat::open_metrics), HasSubstr("run=\"c\""));
        served.add_row(served / "a", 4 + round);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Catalog, ShowsAllRunsAsOpenMetrics) {
  served.make_run("a");
  served.make_run("b/c");
  EXPECT_THAT(served.catalog.openmetrics(exporters::TextFormat::open_metrics),
              testing::AllOf(HasSubstr("\ntroika_step{run=\"a\"} 3\ntroika_step{run=\"b/c\"} 3\n"),
                             HasSubstr("troika_run_state{run=\"a\",troika_run_state=\"finished\"} 1\n"),
                             HasSubstr("troika_step_seconds_count{run=\"a\"} 3\n"), testing::EndsWith("\n# EOF\n")));
}

}  // namespace
}  // namespace troika::serve
