#include "planner/recording.h"

#include <gmock/gmock.h>

#include "base/say.h"
#include "base/temporary_folder_test_support.h"
#include "planner/recorded_run_test_support.h"
#include "schedule/schedule.h"

namespace troika::planner {
namespace {
using testing::HasSubstr;

class RecordedRun : public testing::Test {
 protected:
  RecordedRun() : plan_(made_up_plan(1, 3, 0, 1)), replay_(made_up(plan_, host_for_each(3), made_up_link)) {}

  std::string run() const { return folder_.path() + "/run"; }
  std::string merged(std::int64_t step) const { return run() + "/timeline/" + schedule::merged_trace_name(step); }
  void write(std::int64_t step) const { write_run(run(), plan_, replay_, step); }

  const base::TemporaryFolder folder_;
  const plan::Plan plan_;
  const Replay replay_;
};

TEST_F(RecordedRun, HasItsPlanWithBytesItsStepsAndItsHosts) {
  write(3);
  write(5);
  const Recording recording = read_recording(run());
  ASSERT_EQ(recording.steps.size(), 2U);
  EXPECT_EQ(recording.steps[1].step, 5);
  EXPECT_EQ(recording.hosts, (std::vector<std::string>{"h0", "h1", "h2"}));
  ASSERT_EQ(recording.plan.program.ranks, plan_.program.ranks);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (std::size_t index = 0; index < plan_.program.ranks[rank].size(); ++index)
      EXPECT_EQ(recording.plan.program.ranks[rank][index].bytes, plan_.program.ranks[rank][index].bytes);
  }
}

TEST_F(RecordedRun, LeavesTheFirstStepOutWhereThereAreOthers) {
  write(1);
  EXPECT_EQ(read_recording(run()).steps.size(), 1U);
  write(2);
  const Recording recording = read_recording(run());
  ASSERT_EQ(recording.steps.size(), 1U);
  EXPECT_EQ(recording.steps[0].step, 2);
  EXPECT_THAT(base::in(recording.notes, base::Language::english), testing::ElementsAre(HasSubstr("step 1 left out")));
}

TEST_F(RecordedRun, LeavesStepsOutThatRanTwice) {
  write(3);
  schedule::StepTrace trace = simulate(replay_);
  trace.step = 2;
  for (schedule::RankTimeline& timeline : trace.ranks) {
    const auto once = timeline.events;
    for (schedule::Event event : once) {
      event.begin_seconds += 100;
      event.end_seconds += 100;
      timeline.events.push_back(event);
    }
  }
  base::write_file_atomic(merged(2), schedule::write_chrome(trace));
  EXPECT_THAT(base::in(read_recording(run()).notes, base::Language::english),
              testing::ElementsAre(HasSubstr("step 2 left out: the program ran more")));
}

TEST_F(RecordedRun, TakesTheProgramOfTheAttemptThatTheNewestStepBelongsTo) {
  write(3);
  base::rename_path(run() + "/program.txt", run() + "/program-2.txt");
  base::rename_path(run() + "/config.yaml", run() + "/config-2.yaml");
  const plan::Plan other = made_up_plan(3, 1, 0, 1);
  const MadeUpHosts hosts = host_for_each(3);
  write_run(run(), other, made_up(other, hosts, made_up_link), 2);
  const Recording recording = read_recording(run());
  EXPECT_EQ(recording.plan.shape.pp, 3);
  EXPECT_EQ(recording.steps.size(), 1U);
  EXPECT_THAT(base::in(recording.notes, base::Language::english),
              testing::ElementsAre(HasSubstr("step 2 left out: of another program")));
}

TEST_F(RecordedRun, WithoutAStepSaysHowToRecordOne) {
  EXPECT_THAT(refused<base::ConfigError>([&] { read_recording(run()); }), HasSubstr("there is no run folder"));
  base::make_directories(run());
  EXPECT_THAT(refused<base::ConfigError>([&] { read_recording(run()); }),
              HasSubstr("holds no recorded step; run it with --profile, such as --profile 3,4,5"));
}

TEST_F(RecordedRun, ThatIsDamagedEmptyOrLacksRanksIsRefused) {
  write(3);
  const std::string whole = base::read_file(merged(3));
  base::write_file_atomic(merged(3), whole.substr(0, whole.size() / 2));
  EXPECT_THAT(refused<base::DataError>([&] { read_recording(run()); }), HasSubstr(merged(3)));
  schedule::StepTrace trace = simulate(replay_);
  trace.step = 3;
  trace.ranks.erase(trace.ranks.begin() + 1);
  base::write_file_atomic(merged(3), schedule::write_chrome(trace));
  EXPECT_THAT(refused<base::DataError>([&] { read_recording(run()); }), HasSubstr("step 3 lacks rank 1; copy"));
  for (schedule::RankTimeline& timeline : trace.ranks) timeline.events.clear();
  base::write_file_atomic(merged(3), schedule::write_chrome(trace));
  EXPECT_THAT(refused<base::DataError>([&] { read_recording(run()); }), HasSubstr("step 3 holds no event"));
}

TEST_F(RecordedRun, WithoutProgramOrSettingsNamesTheFile) {
  write(3);
  const std::string program = base::read_file(run() + "/program.txt");
  base::remove_tree(run() + "/program.txt");
  EXPECT_THAT(refused<base::DataError>([&] { read_recording(run()); }), HasSubstr("program.txt is missing"));
  base::write_file_atomic(run() + "/program.txt", program.substr(0, 40));
  EXPECT_THAT(refused<base::DataError>([&] { read_recording(run()); }), HasSubstr("program.txt: program text"));
  base::write_file_atomic(run() + "/program.txt", program);
  base::remove_tree(run() + "/config.yaml");
  EXPECT_THAT(refused<base::DataError>([&] { read_recording(run()); }), HasSubstr("config.yaml is missing"));
}

}  // namespace
}  // namespace troika::planner
