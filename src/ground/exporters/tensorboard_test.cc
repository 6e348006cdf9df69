#include "exporters/tensorboard.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/temporary_folder_test_support.h"
#include "config/config.h"
#include "exporters/event_records.h"
#include "exporters/made_run_test_support.h"

namespace troika::exporters {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::uint64_t number_at(const std::string& bytes, std::size_t at, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)])) << (8 * i);
  return value;
}

// The events of a file whose frames all hold; a frame that does not is "damaged".
std::vector<std::string> events_of(const std::string& path) {
  const std::string bytes = base::read_file(path);
  std::vector<std::string> events;
  for (std::size_t at = 0; at < bytes.size();) {
    if (at + 12 > bytes.size()) return events.push_back("damaged"), events;
    const std::size_t size = number_at(bytes, at, 8);
    if (at + 16 + size > bytes.size()) return events.push_back("damaged"), events;
    const std::string event = bytes.substr(at + 12, size), record = bytes.substr(at, size + 16);
    events.push_back(record == framed(event) ? event : "damaged");
    at += record.size();
  }
  return events;
}

std::string only_file_in(const std::string& folder) {
  const std::vector<std::string> names = base::list_directory(folder);
  EXPECT_THAT(names, SizeIs(1));
  return folder + "/" + names.at(0);
}

TEST(Tensorboard, ScalarsAreTheKeysOfTheRow) {
  metrics::StepMetrics row = made_row(3, 4.5);
  row.extra["valid_loss"] = 4.75;
  EXPECT_THAT(scalars_of(row), AllOf(SizeIs(9), ::testing::Contains(std::pair{std::string("loss"), 4.5}),
                                     ::testing::Contains(std::pair{std::string("valid_loss"), 4.75})));
}

TEST(Tensorboard, FoldersAreWhatTheSettingsSay) {
  config::Settings settings;
  settings.train.out = "runs/a";
  EXPECT_EQ(tensorboard_folder(settings), "");
  settings.log.tensorboard = "on";
  EXPECT_EQ(tensorboard_folder(settings), "runs/a/tensorboard");
  settings.log.tensorboard = "logs/tb";
  EXPECT_EQ(tensorboard_folder(settings), "logs/tb");
  settings.train.out = "";
  EXPECT_EQ(tensorboard_folder(settings), "");
}

TEST(Tensorboard, HyperParametersAreTheSettingsThatRanksShare) {
  config::Settings settings;
  settings.optimizer.lr = 0.25;
  settings.train.out = "a folder of mine";
  const std::vector<HyperParameter> parameters = hyper_parameters_of(config::to_yaml(settings));
  const auto value_of = [&](const std::string& name) {
    for (const HyperParameter& parameter : parameters)
      if (parameter.name == name) return parameter.value;
    return HyperParameter{}.value;
  };
  EXPECT_EQ(std::get<double>(value_of("optimizer.lr")), 0.25);
  EXPECT_EQ(std::get<bool>(value_of("data.shuffle")), true);
  EXPECT_EQ(std::get<std::string>(value_of("precision.compute")), "fp32");
  for (const HyperParameter& parameter : parameters) EXPECT_NE(parameter.name, "train.out");
  EXPECT_TRUE(hyper_parameters_of("no: such\n").empty());
}

TEST(Tensorboard, AnAttemptHasAFileThatSaysWhichStepsCount) {
  const std::string folder = base::temporary_folder() + "/tb";
  {
    const auto sink = make_tensorboard_sink({folder, "train: {}\n"});
    sink->begin_after(7);
    EXPECT_EQ(sink->append(made_row(8, 4.5)).english, "");
    sink->begin_after(6);  // the run went back
    EXPECT_EQ(sink->append(made_row(7, 4.25)).english, "");
    sink->finish();
  }
  const std::vector<std::string> events = events_of(only_file_in(folder));
  ASSERT_THAT(events, SizeIs(9));
  EXPECT_THAT(events[0], HasSubstr("brain.Event:2"));
  EXPECT_EQ(events[1].substr(9), std::string("\x10\x08\x3a\x02\x08\x01", 6));  // step 8: START
  EXPECT_THAT(events[2], HasSubstr("train: {}"));
  EXPECT_THAT(events[3], HasSubstr("_hparams_/experiment"));
  EXPECT_THAT(events[4], HasSubstr("_hparams_/session_start_info"));
  EXPECT_THAT(events[5], HasSubstr("tokens_per_second"));
  EXPECT_EQ(events[6].substr(9), std::string("\x10\x07\x3a\x02\x08\x01", 6));
  EXPECT_THAT(events[8], HasSubstr("_hparams_/session_end_info"));
}

TEST(Tensorboard, AResumesFileIsReadBehindTheFirst) {
  const std::string folder = base::temporary_folder() + "/tb-resumed";
  for (int attempt = 0; attempt < 3; ++attempt) make_tensorboard_sink({folder, ""})->begin_after(attempt);
  const std::vector<std::string> names = base::list_directory(folder);
  ASSERT_THAT(names, SizeIs(3));
  for (std::size_t i = 0; i < names.size(); ++i)  // START of step 1, 2, 3, in the order of the names
    EXPECT_EQ(events_of(folder + "/" + names[i]).at(1)[10], static_cast<char>(i + 1));
}

// The first trouble that the sink tells of; "" when none comes within 5 s.
std::string trouble_of(metrics::RowSink& sink) {
  const double until = base::monotonic_seconds() + 5;
  for (std::int64_t step = 1; base::monotonic_seconds() < until; ++step) {
    if (const std::string trouble = sink.append(made_row(step, 4.5)).english; !trouble.empty()) return trouble;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return "";
}

TEST(Tensorboard, AFolderThatCannotBeMadeIsOneNote) {
  base::write_file_atomic(base::temporary_folder() + "/a-file", "x");
  const auto sink = make_tensorboard_sink({base::temporary_folder() + "/a-file/tb", ""});
  sink->begin_after(0);
  EXPECT_THAT(trouble_of(*sink), AllOf(HasSubstr("a-file/tb"), HasSubstr("the run continues")));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sink->append(made_row(i, 4.5)).english, "");
  sink->finish();
}

TEST(Tensorboard, WritesAFinishedRunIntoOneFile) {
  const std::string folder = base::temporary_folder() + "/tb-run", to = base::temporary_folder() + "/tb-export";
  make_run(folder);
  records::RunState state = made_state();
  state.life = records::Life::finished;
  records::write_run_state(folder, state);
  records::RunReader run(folder);
  run.refresh();
  const std::string path = write_tensorboard(run, {to, "", {}});
  EXPECT_EQ(path, only_file_in(to));
  const std::vector<std::string> events = events_of(path);
  ASSERT_THAT(events, SizeIs(9));
  const auto time_of = [](const std::string& event) {
    const std::uint64_t bits = number_at(event, 1, 8);
    double time = 0;
    std::memcpy(&time, &bits, sizeof time);
    return time;
  };
  EXPECT_DOUBLE_EQ(time_of(events[0]), 1000);  // when the attempt began
  EXPECT_DOUBLE_EQ(time_of(events[5]), 1000.004);
  EXPECT_DOUBLE_EQ(time_of(events[7]), 1001.004);
  EXPECT_THROW(write_tensorboard(run, {to, "", {}}), base::ConfigError);
}

}  // namespace
}  // namespace troika::exporters
