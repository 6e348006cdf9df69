#include "metrics/metrics_log.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::metrics {
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
  EXPECT_THAT(log.append(row_of(4)).english, HasSubstr("had waited: 2 rows"));
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
  EXPECT_THAT(first, HasSubstr("a file may have at most 0 B here (ulimit -f)"));
  EXPECT_EQ(second, "");
}

}  // namespace
}  // namespace troika::metrics
