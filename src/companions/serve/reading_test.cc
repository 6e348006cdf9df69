#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "monitor/view.h"
#include "records/event.h"
#include "serve/checkpoints.h"
#include "serve/column_cache.h"
#include "serve/planned_run_test_support.h"
#include "serve/routes.h"
#include "serve/logs.h"
#include "serve/views.h"
#include "serve/programs.h"

namespace troika::serve {
namespace {

using base::Language;
using monitor::MadeRun;
using testing::HasSubstr;

TEST(EventsOfARun, AreTheLastThousandInOrder) {
  const monitor::MadeRun run;
  EXPECT_EQ(nlohmann::json::parse(events_json(run.path())), nlohmann::json::array());
  for (int i = 0; i < 1200; ++i) run.write_event(i, records::EventKind::save, "saved", -1, i);
  const auto events = nlohmann::json::parse(events_json(run.path()));
  ASSERT_EQ(events.size(), 1000U);
  EXPECT_EQ(events[0]["step"], 200);
  EXPECT_EQ(events[999]["event"], "save");
}

// One tensor whole, two slices of another.
std::string part_file() {
  const std::string header =
      R"({"__metadata__":{"region.b#1":"x"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},"b#1":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  return length + header + std::string(12, '\1');
}

TEST(CheckpointsOfARun, AreListedWithTheirSizesTheNewestFirst) {
  const monitor::MadeRun run;
  EXPECT_EQ(nlohmann::json::parse(checkpoints_json(run.path())), nlohmann::json::array());
  for (const char* name : {"step-00000010", "step-00000020", "step-00000030.partial"}) {
    base::make_directories(run.path() + "/checkpoints/" + name + "/model");
    base::make_directories(run.path() + "/checkpoints/" + name + "/state");
    base::write_file_atomic(run.path() + "/checkpoints/" + name + "/model/rank-00000.safetensors", part_file());
    base::write_file_atomic(run.path() + "/checkpoints/" + name + "/state/rank-00000.safetensors", "1234");
  }
  const std::string manifest = R"({"world_size": 3})";
  for (const char* name : {"step-00000010", "step-00000020"})
    base::write_file_atomic(run.path() + "/checkpoints/" + name + "/manifest.json", manifest);
  base::make_directories(run.path() + "/exports/step-00000010");
  const auto list = nlohmann::json::parse(checkpoints_json(run.path()));
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0]["step"], 30);
  EXPECT_EQ(list[0]["complete"], false);
  EXPECT_EQ(list[1]["step"], 20);
  EXPECT_EQ(list[1]["complete"], true);
  EXPECT_EQ(list[1]["bytes"], part_file().size() + 4 + manifest.size());
  EXPECT_EQ(list[1]["tensors"], 2);
  EXPECT_EQ(list[1]["world_size"], 3);
  EXPECT_EQ(list[1]["exported"], false);
  EXPECT_GT(list[1]["time"], 1e9);
  EXPECT_EQ(list[2]["exported"], true);
}

TEST(CheckpointsOfARun, WithDamagedFilesAreListedWithoutWhatThoseSay) {
  const monitor::MadeRun run;
  const std::string folder = run.path() + "/checkpoints/step-00000010";
  base::make_directories(folder + "/model");
  base::write_file_atomic(folder + "/manifest.json", "{");
  base::write_file_atomic(folder + "/model/rank-00000.safetensors", std::string(100, '\xff'));
  const auto list = nlohmann::json::parse(checkpoints_json(run.path()));
  EXPECT_EQ(list[0]["tensors"], nullptr);
  EXPECT_EQ(list[0]["world_size"], nullptr);
}

// A program that says what it was asked, in the place of troika.
std::string program_that(const std::string& folder, const std::string& script) {
  const std::string path = folder + "/program";
  base::write_file_atomic(path, "#!/bin/sh\n" + script + "\n");
  ::chmod(path.c_str(), 0700);
  return path;
}

std::string why_by(const std::string& program, Language language) {
  Options options;
  options.program = program;
  options.environment = {{"PATH", "/usr/bin:/bin"}};
  Asked asked;
  asked.language = language;
  return why_json(options, "/runs/a", asked);
}

TEST(WhyOfARun, HasTheSentenceOfItsCause) {
  const base::TemporaryFolder folder;
  const std::string program = program_that(
      folder.path(), R"(echo "{\"cause\": \"disk_full\", \"evidence\": [\"$1 $2 $3 $4 $5\"], \"advice\": []}")");
  const auto why = nlohmann::json::parse(why_by(program, Language::chinese));
  EXPECT_EQ(why["cause"], "disk_full");
  EXPECT_THAT(why["sentence"].get<std::string>(), HasSubstr("磁盘"));
  EXPECT_EQ(why["evidence"][0], "why /runs/a --json --lang zh");
}

TEST(WhyOfARun, IsNotThereWhereTheProgramHasNoAnswer) {
  const base::TemporaryFolder folder;
  EXPECT_THROW(why_by(program_that(folder.path(), "exit 2"), Language::english), Refused);
  EXPECT_THROW(why_by(program_that(folder.path(), "echo no JSON"), Language::english), Refused);
  EXPECT_THROW(why_by(folder.path() + "/nothing", Language::english), Refused);
}

TEST(RunViews, AreWhatTheMonitorShows) {
  monitor::MadeRun run(2, 2);
  run.write_state();
  run.write_steps(1, 50);
  run.write_samples(50);
  run.write_event(10, records::EventKind::save, "saved", -1, 40);
  ColumnCache cache;
  RunViews views(cache);
  auto view = nlohmann::json::parse(views.view_json(run.path(), Language::english));
  auto expected =
      nlohmann::json::parse(monitor::to_json(monitor::RunWatch(run.path()).look(view["time"]), Language::english, -1));
  // Columns hold what is fp32 as fp32.
  auto& curve = view["progress"]["loss_curve"]["points"];
  auto& exact = expected["progress"]["loss_curve"]["points"];
  ASSERT_EQ(curve.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_FLOAT_EQ(curve[i], exact[i]);
  curve = exact;
  for (const char* other : {"grad_norm_curve", "tokens_per_second_curve"})
    if (view["progress"].contains(other)) view["progress"][other] = expected["progress"][other];
  EXPECT_EQ(view, expected);
  EXPECT_NE(views.view_json(run.path(), Language::chinese), views.view_json(run.path(), Language::english));
}

TEST(RunViews, OfALongRunHaveTheCourseOfAllItsSteps) {
  const monitor::MadeRun run;
  run.write_state();
  run.write_steps(1, 10'000, [](metrics::StepMetrics& row) {
    if (row.step == 5) row.extra["valid_loss"] = 3;
  });
  ColumnCache cache;
  RunViews views(cache);
  const auto progress = nlohmann::json::parse(views.view_json(run.path(), Language::english))["progress"];
  EXPECT_EQ(progress["step"], 10'000);
  EXPECT_EQ(progress["loss_curve"]["first_step"], 1);
  EXPECT_EQ(progress["loss_curve"]["last_step"], 10'000);
  EXPECT_EQ(progress["valid_loss"], 3);
}

TEST(RunViews, OfAFolderWithoutARunSayThatThereIsNone) {
  const base::TemporaryFolder folder;
  ColumnCache cache;
  RunViews views(cache);
  EXPECT_EQ(nlohmann::json::parse(views.view_json(folder.path() + "/nothing", Language::english))["state"],
            "no_record");
}

}  // namespace
}  // namespace troika::serve
