#include "metrics/step_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace troika::metrics {

static StepMetrics example() {
  StepMetrics m;
  m.step = 3;
  m.loss = 5.54517745971679688;
  m.loss_bits = bits_of(5.54517745971679688F);
  m.grad_norm = 1.0 / 3;
  m.lr = 3e-4;
  m.tokens = 768;
  m.tokens_total = 2304;
  m.step_seconds = 0.25;
  m.tokens_per_second = 3072;
  m.memory_bytes = 123456789;
  return m;
}

TEST(StepMetrics, LineHasTheKeysInOrderWithNineDigits) {
  EXPECT_EQ(
      to_json(example()),
      R"({"step": 3, "loss": 5.54517746, "loss_bits": "40b17218", "grad_norm": 0.333333333, "lr": 0.0003, "tokens": 768, )"
      R"("tokens_total": 2304, "step_seconds": 0.25, "tokens_per_second": 3072, "memory_bytes": 123456789})");
}

TEST(StepMetrics, NineDigitsGiveTheSameFloatBack) {
  for (std::uint32_t i = 0; i < 20000; ++i) {
    StepMetrics m = example();
    const float loss = 1e-3F + static_cast<float>(i) * 7.77e-4F;
    m.loss = loss;
    m.loss_bits = bits_of(loss);
    const StepMetrics back = parse_step_metrics(to_json(m), "line");
    ASSERT_EQ(bits_of(static_cast<float>(back.loss)), back.loss_bits) << loss;
  }
}

TEST(StepMetrics, ExtraNumbersFollowInNameOrderAndReadBack) {
  StepMetrics m = example();
  m.extra = {{"z", 2}, {"bubble", 0.125}, {"loss_scale", 1099511627776.0}, {"third", 1.0 / 3}};
  const std::string line = to_json(m);
  EXPECT_THAT(
      line, testing::EndsWith(R"("bubble": 0.125, "loss_scale": 1099511627776, "third": 0.3333333333333333, "z": 2})"));
  EXPECT_EQ(parse_step_metrics(line, "line").extra, m.extra);
}

TEST(StepMetrics, LossThatIsNotFiniteIsNullAndKeepsItsBits) {
  StepMetrics m = example();
  m.loss = std::numeric_limits<double>::infinity();
  m.loss_bits = bits_of(std::numeric_limits<float>::infinity());
  const std::string line = to_json(m);
  EXPECT_THAT(line, testing::HasSubstr(R"("loss": null, "loss_bits": "7f800000")"));
  EXPECT_TRUE(std::isnan(parse_step_metrics(line, "line").loss));
}

TEST(StepMetrics, BadLinesAreDataErrorsThatNameTheOrigin) {
  for (const char* line : {"{", "{}", "[]", R"({"step": "1"})", R"({"step": 1, "loss": 2, "loss_bits": "xyz"})"}) {
    try {
      parse_step_metrics(line, "line 7");
      FAIL() << line;
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("line 7"));
    }
  }
}

}  // namespace troika::metrics
