// The promise of the house: the layout never changes the result.
#include <gtest/gtest.h>

#include <atomic>

#include "base/file.h"
#include "base/text.h"
#include "metrics/metrics_file.h"
#include "train/thread_ranks_test_support.h"

namespace troika::train {
namespace {

struct LayoutCase {
  std::string name;
  int dp, pp;
  std::string schedule;
};

const std::vector<LayoutCase>& layouts() {
  static const std::vector<LayoutCase> all{
      {"pp2", 1, 2, "1f1b"},        {"pp2 gpipe", 1, 2, "gpipe"}, {"pp3", 1, 3, "1f1b"},
      {"pp3 gpipe", 1, 3, "gpipe"}, {"pp4", 1, 4, "1f1b"},        {"dp2", 2, 1, "1f1b"},
      {"dp3", 3, 1, "gpipe"},       {"dp4", 4, 1, "1f1b"},        {"dp2 x pp2", 2, 2, "1f1b"},
      {"dp3 x pp2", 3, 2, "gpipe"}, {"dp2 x pp3", 2, 3, "1f1b"},
  };
  return all;
}

class Layouts : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { stream_ = small_corpus(folder_.path()); }

  config::Settings settings(const std::string& name) const {
    config::Settings s = small_settings(folder_.path() + "/" + name);
    s.model.tie_embeddings = GetParam();
    return s;
  }

  std::vector<metrics::StepMetrics> rows(const std::string& name) const {
    return metrics::MetricsFile(folder_.path() + "/" + name + "/metrics.jsonl").read();
  }

  static void apply(const LayoutCase& layout, config::Settings* s) {
    s->parallel.dp = layout.dp;
    s->parallel.pp = layout.pp;
    s->parallel.schedule = layout.schedule;
  }

  void train(const config::Settings& s, const LayoutCase& layout, const Customise& customise = {}) {
    base::make_directories(s.train.out);
    train_on_threads(s, layout.dp * layout.pp, *stream_, customise);
  }

  static void expect_equal(const std::vector<metrics::StepMetrics>& a, const std::vector<metrics::StepMetrics>& b,
                           const std::string& what) {
    ASSERT_EQ(a.size(), b.size()) << what;
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].step, b[i].step) << what;
      EXPECT_EQ(a[i].loss_bits, b[i].loss_bits) << what << ", step " << a[i].step;
      EXPECT_EQ(a[i].grad_norm, b[i].grad_norm) << what << ", step " << a[i].step;
    }
  }

  TemporaryFolder folder_;
  std::shared_ptr<const data::TokenStream> stream_;
};

TEST_P(Layouts, GiveTheSameLossBitsAndGradientNormAtEveryStep) {
  train(settings("alone"), {"alone", 1, 1, "1f1b"});
  const auto alone = rows("alone");
  ASSERT_EQ(alone.size(), 6u);
  EXPECT_LT(alone.back().loss, alone.front().loss);
  for (const LayoutCase& layout : layouts()) {
    config::Settings s = settings(layout.name);
    apply(layout, &s);
    train(s, layout);
    expect_equal(rows(layout.name), alone, layout.name);
  }
}

TEST_P(Layouts, AResumeInAnotherLayoutContinuesWithTheBitsOfTheUninterruptedRun) {
  train(settings("alone"), {"alone", 1, 1, "1f1b"});
  const auto alone = rows("alone");
  const std::vector<LayoutCase> chain{{"a", 1, 3, "gpipe"}, {"b", 2, 2, "1f1b"}, {"c", 3, 1, "1f1b"}};
  config::Settings s = settings("chain");
  s.checkpoint.every = 2;
  for (std::size_t part = 0; part < chain.size(); ++part) {
    apply(chain[part], &s);
    const std::int64_t last = 2 * (static_cast<std::int64_t>(part) + 1);
    // Every rank asks to stop when the part's last step begins, as after a signal.
    std::atomic<int> begun{static_cast<int>(2 * part)};
    train(s, chain[part], [&](Surroundings& surroundings, int rank) {
      if (rank == 0) surroundings.stop_wished = [&begun, last] { return ++begun >= last; };
    });
    EXPECT_EQ(rows("chain").size(), static_cast<std::size_t>(last));
  }
  expect_equal(rows("chain"), alone, "chain of layouts");
}

INSTANTIATE_TEST_SUITE_P(Embeddings, Layouts, testing::Bool(),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });

}  // namespace
}  // namespace troika::train
