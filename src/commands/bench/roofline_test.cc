#include "commands/bench/bench.h"

#include <gmock/gmock.h>

#include <array>

#include "base/error.h"
#include "base/text.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;

std::string report_of(Words words) {
  words.insert(words.begin(), {"bench", "roofline"});
  return roofline_report(call_of(words));
}

std::string refusal_of_roofline(const Words& words) {
  try {
    report_of(words);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

// The number in a column of a row of a table; 0 where there is none.
double cell(const std::string& row, std::size_t column) {
  double value = 0;
  base::parse_double(base::trim(base::split(row, '|').at(column)), &value);
  return value;
}

TEST(Roofline, SumsAreThoseOfTheRowsAboveThem) {
  const std::string text = report_of({"--model.preset", "qwen3-8b", "--seq-len", "4096", "--micro-batch-size", "1"});
  std::array<double, 6> sums{};
  int tables = 0, rows = 0;
  for (const std::string& line : base::split(text, '\n')) {
    if (line.rfind("| ", 0) != 0 || line.rfind("| operation", 0) == 0) continue;
    const bool is_sum = line.rfind("| **sum**", 0) == 0;
    rows += is_sum ? 0 : 1;
    for (const std::size_t column : {3, 4, 5}) {
      if (is_sum) {
        EXPECT_NEAR(cell(line, column), sums.at(column), 0.05 * (rows + 1)) << line;
      }
      sums.at(column) = is_sum ? 0 : sums.at(column) + cell(line, column);
    }
    if (is_sum) rows = 0, ++tables;
  }
  EXPECT_EQ(tables, 3);
}

TEST(Roofline, PrintsTheStatedShapeAndTheDevice) {
  const std::string text = report_of(
      {"--model.preset", "qwen3-8b", "--seq-len", "4096", "--micro-batch-size", "1", "--global-batch-size", "2"});
  EXPECT_THAT(text, AllOf(HasSubstr("qwen3-8b, bf16, 1 x 4096 tokens per microbatch, 2 microbatches per step"),
                          HasSubstr("h200: 790 TFLOP/s, 4.3 TB/s (measured"), HasSubstr("| add + RMSNorm, two"),
                          HasSubstr("| AdamW"), HasSubstr("A step of 36 blocks")));
  EXPECT_THAT(report_of({"--model.preset", "gpt2-124m", "--tflops", "100", "--terabytes", "2", "--seq-len", "512"}),
              AllOf(HasSubstr("on stated: 100 TFLOP/s, 2 TB/s (given by flags)"), HasSubstr("| LayerNorm"),
                    HasSubstr("| biases")));
}

TEST(Roofline, RefusesFp32AndAnUnknownDevice) {
  EXPECT_THAT(refusal_of_roofline({"--model.preset", "qwen3-0.6b", "--precision.compute", "fp32"}),
              HasSubstr("--precision.compute bf16"));
  EXPECT_THAT(refusal_of_roofline({"--model.preset", "qwen3-0.6b", "--device-rates", "h2000"}),
              HasSubstr("did you mean h200"));
}

}  // namespace
}  // namespace troika::commands
