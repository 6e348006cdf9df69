#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "planner/reasons.h"
#include "planner/published_rows_test_support.h"

namespace troika::planner {
namespace {

TEST(PublishedRows, AreEachPredictedWithinFifteenPercentByConstantsFittedWithoutIt) {
  const machine::Reach reach = machine::fitted_reach();
  std::vector<Linear> all;
  for (const PublishedRow& row : published_rows()) all.push_back(linear_at(row, reach));
  const machine::Reach fitted = fit(all, reach);
  EXPECT_NEAR(fitted.products / reach.products, 1, 0.01);  // profiles.cc has what is fitted here
  EXPECT_NEAR(fitted.attention / reach.attention, 1, 0.01);
  EXPECT_NEAR(fitted.links / reach.links, 1, 0.01);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const PublishedRow& row = published_rows()[i];
    const double ratio = predicted_seconds(row, fit(others, reach)) / row.seconds;
    RecordProperty(row.name,
                   fmt::format("{:.3f} of the published seconds; fitted with it {:.3f}", ratio, std::exp(all[i].off)));
    EXPECT_NEAR(ratio, 1, 0.15) << row.name;
  }
}

// Gigabytes of 7.5, 128 and 1000 billion parameters with state, gradients too, parameters too split over so many ranks.
TEST(PublishedRows, ModelStatesAreThoseOfTheZeroPaper) {
  struct Row {
    int ranks;
    double printed[3][3];  // by model and stage
  };
  const Row rows[] = {{1, {{120, 120, 120}, {2048, 2048, 2048}, {16000, 16000, 16000}}},
                      {4, {{52.5, 41.3, 30}, {896, 704, 512}, {7000, 5500, 4000}}},
                      {16, {{35.6, 21.6, 7.5}, {608, 368, 128}, {4750, 2875, 1000}}},
                      {64, {{31.4, 16.6, 1.88}, {536, 284, 32}, {4187, 2218, 250}}},
                      {256, {{30.4, 15.4, 0.47}, {518, 263, 8}, {4046, 2054, 62.5}}},
                      {1024, {{30.1, 15.1, 0.12}, {513, 257, 2}, {4011, 2013, 15.6}}}};
  const double parameters[] = {7.5, 128, 1000};
  for (const Row& row : rows) {
    for (int model = 0; model < 3; ++model) {
      for (int stage = 1; stage <= 3; ++stage) {
        const double printed = row.printed[model][stage - 1];
        const double last_digit = printed >= 100 ? 1 : printed >= 10 ? 0.1 : 0.01;
        EXPECT_NEAR(model_state_bytes(parameters[model], row.ranks, stage, bytes_of_zero_paper), printed, last_digit)
            << row.ranks << " ranks, " << parameters[model] << "B, stage " << stage;
      }
    }
  }
}

// V. Korthikanti et al.: 41.5 % and 56.0 % at the seconds that they print.
TEST(PublishedRows, UtilisationIsCountedAsTheFieldDoes) {
  const auto utilisation = [](const std::string& name) {
    for (const PublishedRow& row : published_rows()) {
      if (row.name != name) continue;
      const double tokens = static_cast<double>(row.layout.global * row.seq_len);
      const plan::PositionCosts costs = plan::position_costs(row.model);
      const double flops = 6 * costs.position + 12 * costs.pair * static_cast<double>(row.seq_len);
      return 100 * tokens * flops / row.seconds / row.layout.world() / 312e12;
    }
    return 0.0;
  };
  EXPECT_NEAR(utilisation("22B selective"), 41.5, 1);
  EXPECT_NEAR(utilisation("530B selective"), 56.0, 1);
}

// P. Qi et al., "Zero Bubble Pipeline Parallelism", 2024: bubble rates from profiled times of 8 stages on A100.
TEST(PublishedRows, BubblesOfPipelinesAreThoseThatWereProfiled) {
  struct Row {
    std::int64_t layers, hidden, heads, micro;
    int microbatches;
    double one_f_one_b, interleaved, zb_h1;
  };
  const Row rows[] = {{22, 2304, 24, 6, 24, .2431, .1055, .1585},
                      {22, 2304, 24, 6, 32, .1985, .0818, .1242},
                      {22, 2304, 24, 6, 64, .1240, .0443, .0674},
                      {30, 4096, 32, 3, 24, .2347, .0808, .1323},
                      {30, 4096, 32, 3, 64, .1091, .0320, .0554}};
  for (const Row& row : rows) {
    for (const auto& [schedule, v, printed] : {std::tuple(config::Schedule::one_f_one_b, 1, row.one_f_one_b),
                                               {config::Schedule::interleaved, 3, row.interleaved},
                                               {config::Schedule::zb_h1, 1, row.zb_h1}}) {
      const double bubble =
          bubble_of_balanced_pipeline(row.layers, row.hidden, row.heads, row.micro, row.microbatches, schedule, v);
      EXPECT_NEAR(bubble, printed, 0.03) << row.hidden << " " << row.microbatches << " " << config::word_of(schedule);
    }
  }
}

}  // namespace
}  // namespace troika::planner
