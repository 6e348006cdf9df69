#include "serve/column_cache.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "monitor/made_run_test_support.h"
#include "serve/rows.h"

namespace troika::serve {
namespace {

using monitor::MadeRun;

std::int64_t rows_in(ColumnCache& cache, const std::string& folder) {
  std::int64_t rows = -1;
  cache.look(folder, [&](const Columns& columns, const RunFile*) { rows = columns.rows(); });
  return rows;
}

nlohmann::json rows_from(ColumnCache& cache, const std::string& folder, std::int64_t from, std::int64_t limit) {
  std::string text;
  cache.look(folder,
             [&](const Columns& columns, const RunFile* file) { text = rows_json(columns, *file, from, limit); });
  return nlohmann::json::parse(text);
}

TEST(ColumnCache, ShowsWhatIsInTheFileNow) {
  const monitor::MadeRun run;
  ColumnCache cache;
  EXPECT_EQ(rows_in(cache, run.path()), 0);
  run.write_steps(1, 10);
  EXPECT_EQ(rows_in(cache, run.path()), 10);
  run.write_steps(11, 12);
  EXPECT_EQ(rows_in(cache, run.path()), 12);
  base::remove_tree(run.path() + "/metrics.jsonl");
  EXPECT_EQ(rows_in(cache, run.path()), 0);
}

TEST(ColumnCache, KeepsThoseThatWereUsedLast) {
  const monitor::MadeRun a, b, c;
  for (const monitor::MadeRun* run : {&a, &b, &c}) run->write_steps(1, 1000);
  ColumnCache measure;
  rows_in(measure, a.path());
  const std::int64_t one = measure.bytes();
  ColumnCache cache(2 * one + one / 2);
  for (const monitor::MadeRun* run : {&a, &b, &a, &c}) rows_in(cache, run->path());
  EXPECT_EQ(cache.bytes(), 2 * one);
  EXPECT_EQ(rows_in(cache, b.path()), 1000);
  EXPECT_EQ(cache.bytes(), 2 * one);
  ColumnCache small(1);
  EXPECT_EQ(rows_in(small, a.path()), 1000);
  EXPECT_EQ(small.bytes(), one);  // the last one stays
}

TEST(ColumnCache, ManyThreadsMayLookAtOnce) {
  const monitor::MadeRun a, b;
  a.write_steps(1, 500);
  b.write_steps(1, 700);
  ColumnCache cache(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) EXPECT_EQ(rows_in(cache, (i % 2 == 0 ? a : b).path()), i % 2 == 0 ? 500 : 700);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ColumnCache, ALinkIsNoFileOfARun) {
  const monitor::MadeRun real, linked;
  real.write_steps(1, 3);
  ASSERT_EQ(::symlink((real.path() + "/metrics.jsonl").c_str(), (linked.path() + "/metrics.jsonl").c_str()), 0);
  ColumnCache cache;
  EXPECT_EQ(rows_in(cache, linked.path()), 0);
}

TEST(Rows, AreTheLinesOfTheFileFromAStepOn) {
  const monitor::MadeRun run;
  run.write_steps(1, 1000);
  ColumnCache cache;
  const auto rows = rows_from(cache, run.path(), 600, 3);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["step"], 600);
  EXPECT_EQ(rows[2]["step"], 602);
  EXPECT_TRUE(rows[0].contains("loss_bits"));
  EXPECT_EQ(rows_from(cache, run.path(), 0, 100'000).size(), 1000U);
  EXPECT_EQ(rows_from(cache, run.path(), 999, 10).size(), 2U);
  EXPECT_EQ(rows_from(cache, run.path(), 1001, 10).size(), 0U);
  EXPECT_EQ(rows_from(cache, run.path(), 1, 0).size(), 0U);
}

TEST(Rows, ThatWereReplacedAreNotAmongThem) {
  const monitor::MadeRun run;
  run.write_steps(1, 700);
  base::append_file(run.path() + "/metrics.jsonl", "{\"damaged\n");
  run.write_steps(300, 900, [](metrics::StepMetrics& row) { row.loss = 77; });
  ColumnCache cache;
  const auto rows = rows_from(cache, run.path(), 0, 10'000);
  ASSERT_EQ(rows.size(), 900U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i]["step"], i + 1);
    ASSERT_EQ(rows[i]["loss"] == 77, i + 1 >= 300) << i;
  }
}

TEST(Rows, OfAnOddFormAreJsonAllTheSame) {
  const monitor::MadeRun run;
  run.write_steps(1, 1);
  std::string line = base::read_file(run.path() + "/metrics.jsonl");
  line.pop_back();
  base::write_file_atomic(run.path() + "/metrics.jsonl", line + std::string(1, '\0') + "</script>\n");
  ColumnCache cache;
  EXPECT_EQ(rows_from(cache, run.path(), 0, 10).size(), 1U);
}

}  // namespace
}  // namespace troika::serve
