// Half precision learns as fp32 does: a small sibling of the quickstart's run on its corpus, the C and C++ headers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "data/prepare.h"
#include "tokenizer/tokenizer.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

config::Settings quickstart_settings() {
  config::Settings s = small_settings("");
  s.model.layers = 3;
  s.model.hidden = 64;
  s.model.head_dim = 16;
  s.model.ffn = 160;
  s.model.init_std = 0.06;
  s.batch.seq_len = 64;
  s.batch.global_batch_size = 4;
  s.optimizer.lr = 3e-3;
  s.optimizer.min_lr = 3e-4;
  s.optimizer.warmup_steps = 20;
  s.train.steps = 200;
  s.train.seed = 1;
  return s;
}

class FullCurves : public testing::Test {
 protected:
  std::vector<double> losses(const std::string& precision) {
    config::Settings s = quickstart_settings();
    s.precision.compute = config::parse_word<config::Precision>(precision).value();
    s.train.out = folder_.path() + "/" + precision;
    base::make_directories(s.train.out);
    train_on_threads(s, apply_layout("dp 2", &s), *headers_);
    std::vector<double> losses;
    for (const auto& row : metrics::MetricsFile(s.train.out + "/metrics.jsonl").read()) losses.push_back(row.loss);
    return losses;
  }
  const TemporaryFolder folder_;
  const std::shared_ptr<const data::TokenStream> headers_ =
      data::prepare_once({"/usr/include/c++"}, *tokenizer::open_tokenizer("bytes"), folder_.path() + "/tokens", {}, {});
};

TEST_F(FullCurves, OfHalfPrecisionStayWithinTwoPercentOfFp32AtEveryOneOf200Steps) {
  const auto fp32 = losses("fp32");
  ASSERT_EQ(fp32.size(), 200U);
  EXPECT_LT(fp32.back(), 0.6 * fp32.front());
  for (const char* precision : {"bf16", "fp16"}) {
    const auto half = losses(precision);
    ASSERT_EQ(half.size(), fp32.size());
    double largest = 0;
    for (std::size_t i = 0; i < fp32.size(); ++i) largest = std::max(largest, std::abs(half[i] - fp32[i]) / fp32[i]);
    RecordProperty(precision, std::to_string(largest));
    EXPECT_LT(largest, 0.02) << precision;
    EXPECT_NE(half.back(), fp32.back()) << precision;  // it was another precision
  }
}

}  // namespace
}  // namespace troika::train
