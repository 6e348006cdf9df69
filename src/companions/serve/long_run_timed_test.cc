#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "base/clock.h"
#include "base/temporary_folder_test_support.h"
#include "serve/column_cache.h"
#include "serve/curves.h"
#include "serve/long_run_test_support.h"
#include "serve/columns.h"
#include "serve/views.h"

namespace troika::serve {
namespace {

constexpr std::int64_t long_steps = 1'000'000;

double seconds_taken(const std::function<void()>& work) {
  const double before = base::monotonic_seconds();
  work();
  return base::monotonic_seconds() - before;
}

class LongRunTimed : public testing::Test {
 protected:
  LongRunTimed() { write_long_run(folder.path() + "/metrics.jsonl", long_steps); }

  double median_curve_seconds(const CurveQuestion& question) {
    std::vector<double> seconds;
    for (int i = 0; i < 9; ++i) {
      seconds.push_back(seconds_taken([&] {
        cache.look(folder.path(), [&](const Columns& columns, const base::RunFile*) {
          EXPECT_GT(curve_json("run", columns, question).size(), 10'000U);
        });
      }));
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }

  const base::TemporaryFolder folder;
  ColumnCache cache;
};

// On two cores of 2.x GHz a third of these limits and less.
TEST_F(LongRunTimed, AMillionStepsAreReadOnceAndThenShownAtOnce) {
  std::int64_t rows = 0;
  const double first =
      seconds_taken([&] { cache.look(folder.path(), [&](const Columns& c, const base::RunFile*) { rows = c.rows(); }); });
  EXPECT_EQ(rows, long_steps);
  const double whole = median_curve_seconds({Series::loss, Axis::step, {}, {}, 1000});
  const double zoomed = median_curve_seconds({Series::grad_norm, Axis::time, 1000, 100'000, 2000});
  std::string some_rows;
  const double of_rows = seconds_taken([&] {
    cache.look(folder.path(),
               [&](const Columns& c, const base::RunFile* file) { some_rows = rows_json(c, *file, long_steps / 2, 1000); });
  });
  ColumnCache cache_of_views;
  RunViews views(cache_of_views);
  const double view = seconds_taken([&] { views.view_json(folder.path(), base::Language::english); });
  std::printf("index %.3f s, %.1f MB; curve %.2f ms, zoomed %.2f ms; 1000 rows %.2f ms; view %.3f s\n", first,
              static_cast<double>(cache.bytes()) / 1e6, 1000 * whole, 1000 * zoomed, 1000 * of_rows, view);
  EXPECT_LT(first, 2.1);
  EXPECT_LE(cache.bytes(), 60'000'000);
  EXPECT_LT(whole, 0.06);
  EXPECT_LT(zoomed, 0.06);
  EXPECT_LT(of_rows, 0.06);
  EXPECT_LT(view, 3);
  EXPECT_NE(some_rows.find("\"step\": 500000,"), std::string::npos);
}

}  // namespace
}  // namespace troika::serve
