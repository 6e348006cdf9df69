#include "serve/columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "metrics/step_metrics.h"

namespace troika::serve {
namespace {

const std::string row_head =
    R"({"step": 3, "loss": 5.5, "loss_bits": "40b00000", "grad_norm": 0.25, "lr": 0.0003, "tokens": 768, "tokens_total": 2304, )"
    R"("step_seconds": 0.5, "tokens_per_second": 1536, "memory_bytes": 123)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(RowScan, TakesTheNumbersOfARow) {
  const auto row = scan_row(row_head + R"(, "valid_loss": 4.25, "z": 1e3})");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->step, 3);
  EXPECT_EQ(row->tokens_total, 2304);
  EXPECT_EQ((*row)[Series::loss], 5.5);
  EXPECT_EQ((*row)[Series::valid_loss], 4.25);
  EXPECT_EQ((*row)[Series::grad_norm], 0.25);
  EXPECT_EQ((*row)[Series::lr], 0.0003);
  EXPECT_EQ((*row)[Series::tokens_per_second], 1536);
  EXPECT_EQ((*row)[Series::step_seconds], 0.5);
}

TEST(RowScan, TakesWhatRunsWriteWithoutTheFullParser) {
  metrics::StepMetrics row;
  row.step = 1;
  row.loss = std::nan("");
  row.lr = 1e-9;
  row.extra = {{"loss_scale", 65536}, {"valid_loss", 1.0 / 3}};
  EXPECT_TRUE(is_plain_row(metrics::to_json(row)));
  EXPECT_TRUE(std::isnan((*scan_row(metrics::to_json(row)))[Series::loss]));
  EXPECT_TRUE(is_plain_row(" { \"step\":3" + row_head.substr(10) + " } \r"));
}

TEST(RowScan, KeysMayStandInAnyOrderAndUnknownOnesArePassedOver) {
  const std::string line =
      R"({"new": null, "memory_bytes": 1, "tokens_per_second": 2, "step_seconds": 3, "tokens_total": 4, "tokens": 5, "lr": 6,)"
      R"("grad_norm": 7, "loss_bits": "00000000", "loss": 8, "step": 9})";
  ASSERT_TRUE(is_plain_row(line));
  EXPECT_EQ(scan_row(line)->step, 9);
  EXPECT_EQ((*scan_row(line))[Series::grad_norm], 7);
}

// The judge is the parser of the format: what it refuses is no row, and what it takes has its numbers.
TEST(RowScan, MatchesTheFullParser) {
  const std::string row = row_head + "}";
  for (const std::string& line : {row,
                                  std::string(),
                                  std::string("{"),
                                  std::string("null"),
                                  std::string("[]"),
                                  row + "}",
                                  row + " x",
                                  row + ",",
                                  row.substr(0, 40),
                                  replaced(row, "5.5", "05.5"),
                                  replaced(row, "5.5", "+5.5"),
                                  replaced(row, "5.5", "5."),
                                  replaced(row, "5.5", ".5"),
                                  replaced(row, "5.5", "nan"),
                                  replaced(row, "5.5", "inf"),
                                  replaced(row, "5.5", "-0"),
                                  replaced(row, "5.5", "-0.0"),
                                  replaced(row, "5.5", "1e999"),
                                  replaced(row, "5.5", "1e-999"),
                                  replaced(row, "5.5", "1E+2"),
                                  replaced(row, "5.5", "5e"),
                                  replaced(row, "5.5", "\"5.5\""),
                                  replaced(row, "5.5", "18446744073709551615"),
                                  replaced(row, "5.5", "99999999999999999999"),
                                  replaced(row, "5.5", "{}"),
                                  replaced(row, "5.5", "nul"),
                                  replaced(row, "5.5", "true"),
                                  replaced(row, "\"step\": 3", "\"step\": 3.0"),
                                  replaced(row, "\"step\": 3", "\"step\": null"),
                                  replaced(row, "\"step\": 3", "\"step\": 9223372036854775807"),
                                  replaced(row, "\"step\": 3", "\"step\": 9223372036854775808"),
                                  replaced(row, "\"step\": 3", "\"step\": -3"),
                                  replaced(row, "\"step\": 3", "\"step\": 3, \"step\": 4"),
                                  replaced(row, "\"step\"", "\"st\\u0065p\""),
                                  replaced(row, "40b00000", "40B00000"),
                                  replaced(row, "40b00000", "40b0000"),
                                  replaced(row, "\"lr\"", "\"\xc3\xa4\""),
                                  replaced(row, "\"lr\"", "\"lr\": 1, \"\xc3\xa4\""),
                                  replaced(row, "\"lr\"", "\"\xff\": 1, \"lr\""),
                                  replaced(row, "\"lr\"", "\"a\tb\": 1, \"lr\""),
                                  replaced(row, "\"lr\"", "\"text\": \"a\", \"lr\""),
                                  replaced(row, "\"lr\"", "\"list\": [1], \"lr\""),
                                  row + std::string(1, '\0') + "x",
                                  "\xef\xbb\xbf" + row}) {
    const auto scanned = scan_row(line);
    std::optional<metrics::StepMetrics> parsed;
    try {
      parsed = metrics::parse_step_metrics(line, "it");
    } catch (const base::DataError&) {  // no row
    }
    ASSERT_EQ(scanned.has_value(), parsed.has_value()) << line;
    if (!parsed) continue;
    EXPECT_EQ(scanned->step, parsed->step) << line;
    EXPECT_EQ(scanned->tokens_total, parsed->tokens_total) << line;
    EXPECT_EQ((*scanned)[Series::loss], parsed->loss) << line;
    EXPECT_EQ((*scanned)[Series::lr], parsed->lr) << line;
  }
}

TEST(RowScan, SeriesHaveTheNamesOfTheirKeys) {
  for (std::size_t i = 0; i < series_count; ++i)
    EXPECT_EQ(series_of(word_of(static_cast<Series>(i))), static_cast<Series>(i));
  EXPECT_EQ(word_of(Series::tokens_per_second), "tokens_per_second");
  EXPECT_FALSE(series_of("tokens"));
}

}  // namespace
}  // namespace troika::serve
