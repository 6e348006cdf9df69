#include "serve/column_cache.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "base/temporary_folder_test_support.h"
#include "metrics/step_metrics.h"
#include "monitor/made_run_test_support.h"
#include "records/run_reader.h"
#include "serve/columns.h"

namespace troika::serve {
namespace {

using monitor::MadeRun;

std::int64_t rows_in(ColumnCache& cache, const std::string& folder) {
  std::int64_t rows = -1;
  cache.look(folder, [&](const Columns& columns, const base::RunFile*) { rows = columns.rows(); });
  return rows;
}

nlohmann::json rows_from(ColumnCache& cache, const std::string& folder, std::int64_t from, std::int64_t limit) {
  std::string text;
  cache.look(folder,
             [&](const Columns& columns, const base::RunFile* file) { text = rows_json(columns, *file, from, limit); });
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

namespace {

std::string row_line(std::int64_t step, double loss = 1) {
  metrics::StepMetrics row;
  row.step = step;
  row.loss = loss;
  row.lr = 1e-3 / static_cast<double>(step);
  row.tokens = 10;
  row.tokens_total = 10 * step;
  row.step_seconds = 0.25;
  row.tokens_per_second = 40;
  return metrics::to_json(row) + "\n";
}

class StepColumnsOfARun : public testing::Test {
 protected:
  void write(const std::string& text) const { base::append_file(folder.path() + "/metrics.jsonl", text); }
  void refresh() {
    const auto file = base::RunFile::open(folder.path(), "metrics.jsonl");
    ASSERT_TRUE(file);
    columns.refresh(*file);
  }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> all;
    for (std::int64_t row = 0; row < columns.columns().rows(); ++row) all.push_back(columns.columns().step(row));
    return all;
  }

  // The rows of the reader of records, each step once: of equal ones the last, and none that is later than one behind it.
  void expect_as_records() const {
    records::RunReader reader(folder.path());
    reader.refresh();
    std::vector<metrics::StepMetrics> expected;
    for (const metrics::StepMetrics& row : reader.steps()) {
      while (!expected.empty() && expected.back().step >= row.step) expected.pop_back();
      expected.push_back(row);
    }
    const Columns& had = columns.columns();
    ASSERT_EQ(had.rows(), static_cast<std::int64_t>(expected.size()));
    double seconds = 0;
    std::int64_t row = 0;
    had.each_block(0, had.rows(), [&](const Columns::Block& block, std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i, ++row) {
        const metrics::StepMetrics& wanted = expected[static_cast<std::size_t>(row)];
        ASSERT_EQ(block.steps[i], wanted.step);
        ASSERT_EQ(block.tokens[i], wanted.tokens_total);
        ASSERT_EQ(block.of(Series::loss)[i], static_cast<float>(wanted.loss));
        ASSERT_EQ(block.of(Series::lr)[i], static_cast<float>(wanted.lr));
        if (std::isfinite(wanted.step_seconds)) seconds += wanted.step_seconds;
        ASSERT_NEAR(block.seconds[i], seconds, 1e-6 * seconds);
      }
    });
  }

  const base::TemporaryFolder folder;
  StepColumns columns;
};

TEST_F(StepColumnsOfARun, GrowWithTheFile) {
  write(row_line(1) + row_line(2));
  refresh();
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2}));
  const std::string third = row_line(3);
  write(third.substr(0, 50));
  refresh();
  EXPECT_EQ(columns.columns().rows(), 2);
  write(third.substr(50) + row_line(4));
  refresh();
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2, 3, 4}));
  expect_as_records();
}

TEST_F(StepColumnsOfARun, DamagedLinesAreLeftOut) {
  write(row_line(1) + "{\"step\": 2\n\n" + std::string(100, '\0') + "\n" + row_line(3));
  refresh();
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 3}));
  expect_as_records();
}

TEST_F(StepColumnsOfARun, ARowOfAnEarlierStepReplacesTheLaterOnes) {
  write(row_line(1) + row_line(2) + row_line(3) + row_line(2, 7) + row_line(3) + row_line(3, 8));
  refresh();
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2, 3}));
  expect_as_records();
}

TEST_F(StepColumnsOfARun, AFileThatWasReplacedIsReadFromItsStart) {
  write(row_line(1) + row_line(2) + row_line(3));
  refresh();
  base::write_file_atomic(folder.path() + "/metrics.jsonl",
                          row_line(1) + row_line(2, 5) + row_line(3, 6) + row_line(4));
  refresh();
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2, 3, 4}));
  expect_as_records();
  // The same inode with other content, as one that was given to a new file.
  ASSERT_EQ(::truncate((folder.path() + "/metrics.jsonl").c_str(), 0), 0);
  std::string other;
  for (std::int64_t step = 1; step <= 9; ++step) other += row_line(step, 9);
  write(other);
  refresh();
  EXPECT_EQ(steps().size(), 9U);
  expect_as_records();
  ASSERT_EQ(::truncate((folder.path() + "/metrics.jsonl").c_str(), static_cast<off_t>(other.size() / 9)), 0);
  refresh();
  expect_as_records();
}

TEST_F(StepColumnsOfARun, ALineOfAMebibyteIsLeftOutWhereverItsPartsAreRead) {
  write(row_line(1) + std::string(3 << 20, 'x'));
  refresh();
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1}));
  write(std::string(100, 'x') + "\n" + row_line(2));
  refresh();
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2}));
}

// Enough for several threads, with damage and with runs that went back.
TEST_F(StepColumnsOfARun, PiecesReadByThreadsAreAsOneReadFromFrontToBack) {
  std::mt19937 random(7);
  std::string text;
  std::int64_t step = 0;
  for (int line = 0; line < 60'000; ++line) {
    if (random() % 5000 == 0) step = std::max<std::int64_t>(0, step - static_cast<std::int64_t>(random() % 4000));
    if (random() % 1000 == 0) text += "{\"damaged\": \n";
    text += row_line(++step, static_cast<double>(random() % 1000) / 7);
  }
  ASSERT_GT(text.size(), std::size_t{8} << 20);
  write(text + row_line(step + 1).substr(0, 20));
  refresh();
  expect_as_records();
  for (std::size_t i = 1; i < columns.columns().marks().size(); ++i) {
    EXPECT_LE(columns.columns().marks()[i].row - columns.columns().marks()[i - 1].row, 256);
    EXPECT_GT(columns.columns().marks()[i].offset, columns.columns().marks()[i - 1].offset);
  }
  write(row_line(step + 1).substr(20) + row_line(step + 2));
  refresh();
  expect_as_records();
}

TEST(ColumnsOfSteps, FindTheFirstRowFromAPlaceOn) {
  Columns columns;
  for (std::int64_t step = 10; step <= 50'000; step += 10) {
    ScannedRow row;
    row.step = step;
    row.tokens_total = 100 * step;
    row.values[static_cast<std::size_t>(Series::step_seconds)] = 0.5;
    columns.add(row, step);
  }
  EXPECT_EQ(columns.rows(), 5000);
  EXPECT_EQ(columns.first_from(Axis::step, 0), 0);
  EXPECT_EQ(columns.first_from(Axis::step, 10), 0);
  EXPECT_EQ(columns.first_from(Axis::step, 11), 1);
  EXPECT_EQ(columns.first_from(Axis::tokens, 4'000'000), 3999);
  EXPECT_EQ(columns.first_from(Axis::time, 1), 1);
  EXPECT_EQ(columns.first_from(Axis::step, 50'001), 5000);
  EXPECT_EQ(columns.marks()[columns.mark_of(300)].row, 256);
}

}  // namespace

}  // namespace troika::serve
