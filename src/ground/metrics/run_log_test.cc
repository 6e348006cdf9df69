#include "metrics/run_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "base/text.h"

namespace troika::metrics {

static std::string fresh_folder(const std::string& name) {
  const std::string folder = base::temporary_folder() + "/run_log/" + name;
  base::remove_tree(folder);
  return folder;
}

TEST(RunLog, LinesCarryTimeLevelAndRank) {
  RunLog log(fresh_folder("lines"), 2, LogLevel::info);
  log.debug("not shown");
  log.info("step {} done");  // braces are text
  log.error("bad");
  const auto lines = base::split(base::read_file(log.path()), '\n');
  ASSERT_EQ(lines.size(), 3U);
  const std::string time = R"([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3} )";
  EXPECT_THAT(lines[0], testing::MatchesRegex(time + R"(info rank 2: step \{\} done)"));
  EXPECT_THAT(lines[1], testing::MatchesRegex(time + "error rank 2: bad"));
}

TEST(RunLog, FurtherAttemptsAppend) {
  const std::string folder = fresh_folder("append");
  for (int attempt = 0; attempt < 2; ++attempt) RunLog(folder, 0, LogLevel::info).info("attempt");
  EXPECT_EQ(base::split(base::read_file(folder + "/rank-00000.log"), '\n').size(), 3U);
}

TEST(RunLog, OnlyRankZeroEchoesWarnings) {
  const std::string folder = fresh_folder("echo");
  testing::internal::CaptureStderr();
  for (int rank = 0; rank < 2; ++rank) {
    RunLog log(folder, rank, LogLevel::info);
    log.info("quiet");
    log.warn("loud");
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, testing::HasSubstr("warning rank 0: loud"));
  EXPECT_THAT(text, testing::Not(testing::AnyOf(testing::HasSubstr("rank 1"), testing::HasSubstr("quiet"))));
}

TEST(RunLog, LinesOfSeveralThreadsStayWhole) {
  RunLog log(fresh_folder("threads"), 1, LogLevel::info);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) log.info("whole line");
    });
  for (std::thread& thread : threads) thread.join();
  const auto lines = base::split(base::read_file(log.path()), '\n');
  EXPECT_EQ(lines.size(), 401U);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i)
    EXPECT_THAT(lines[i], testing::EndsWith("info rank 1: whole line"));
}

TEST(RunLog, FolderThatCannotBeIsADataError) {
  const std::string folder = fresh_folder("blocked");
  base::make_directories(folder);
  base::write_file_atomic(folder + "/file", "x");
  EXPECT_THROW(RunLog(folder + "/file", 0, LogLevel::info), base::DataError);
}

namespace {
using ::testing::HasSubstr;

StepMetrics row_of(std::int64_t step) {
  StepMetrics row;
  row.step = step;
  row.loss = 5;
  return row;
}

// Where a folder is in place of the file, nothing can be written.
TEST(MetricsLog, RowsThatTheDiskDoesNotTakeAreWrittenLaterInOrder) {
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/metrics.jsonl", aside = folder.path() + "/aside";
  MetricsLog log(path);
  EXPECT_EQ(log.append(row_of(1)).english, "");
  std::filesystem::rename(path, aside);
  std::filesystem::create_directory(path);
  EXPECT_THAT(log.append(row_of(2)).english, HasSubstr("the run continues"));
  EXPECT_EQ(log.append(row_of(3)).english, "");
  std::filesystem::remove(path);
  std::filesystem::rename(aside, path);
  EXPECT_THAT(log.append(row_of(4)).english, HasSubstr("now has the delayed rows: 2 rows"));
  EXPECT_EQ(log.append(row_of(5)).english, "");
  const auto rows = MetricsFile(path).read();
  ASSERT_EQ(rows.size(), 5u);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].step, static_cast<std::int64_t>(i) + 1);
}

// A limit of file sizes refuses as a disk without room does.
TEST(MetricsLog, AFullDiskIsToldOnce) {
  const base::TemporaryFolder folder;
  MetricsLog log(folder.path() + "/metrics.jsonl");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{0, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &none);
  const std::string first = log.append(row_of(1)).english, second = log.append(row_of(2)).english;
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_THAT(first, HasSubstr("files here may have at most 0 B (ulimit -f)"));
  EXPECT_EQ(second, "");
}

}  // namespace

}  // namespace troika::metrics
