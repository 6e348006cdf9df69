#include "planner/search.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "base/units.h"
#include "machine/profiles.h"
#include "plan/job.h"
#include "planner/bound.h"
#include "planner/estimate.h"
#include "planner/reasons.h"

namespace troika::planner {
namespace {

using testing::HasSubstr;

Question question(const std::string& device, int hosts, std::int64_t layers, std::int64_t global) {
  Question q;
  q.settings.model.layers = layers;
  q.settings.model.hidden = 1024;
  q.settings.model.ffn = 3072;
  q.settings.model.heads = 8;
  q.settings.model.kv_heads = 4;
  q.settings.model.head_dim = 128;
  q.settings.model.vocab = 4096;
  q.settings.batch.seq_len = 512;
  q.global = global;
  const machine::Profile profile = machine::find_profile(device);
  q.cluster.hosts = {profile.host};
  q.cluster.hosts.front().count = hosts;
  q.cluster.network = profile.network;
  q.world = q.cluster.device_count();
  q.top = 5;
  return q;
}

Question with_devices(Question q, int devices) {
  q.cluster.hosts.front().devices = devices;
  q.world = q.cluster.device_count();
  return q;
}

// Samples of 64 tokens but for one in 16, of 256.
plan::DataFacts short_data() {
  plan::DataFacts data;
  data.vocab = 4096;
  data.samples = 1600;
  data.tokens = 1600 * 76;
  data.sizes = [](const config::Batch& batch, int cp, std::int64_t) {
    const std::int64_t most = 256 + 64 * (batch.micro - 1);
    shape::MicrobatchSizes sizes = plan::full_sizes(batch, cp);
    sizes.most_rows.assign(static_cast<std::size_t>(cp), most / cp);
    sizes.longest = 256;
    sizes.positions = 76.0 * static_cast<double>(batch.micro);
    sizes.squares = static_cast<double>(batch.micro) * (15.0 * 64 * 64 + 256 * 256) / 16;
    return sizes;
  };
  return data;
}

std::vector<Question> small_questions() {
  std::vector<Question> all{question("raspberry-pi-4", 3, 6, 12), with_devices(question("a100-80", 1, 8, 16), 4),
                            with_devices(question("h100", 2, 8, 32), 2)};
  Question shared = question("cloud-2-cores", 1, 4, 8);  // four ranks on two cores
  shared.ranks_per_host = shared.world = 4;
  all.push_back(shared);
  Question uneven = with_devices(question("a100-80", 1, 8, 16), 4);
  know_data(&uneven, short_data());
  all.push_back(uneven);
  for (Question& q : all) q.fixed.precision = config::Precision::fp32;
  return all;
}

TEST(ThreeQuestions, WhatIsFrozenHasNeitherGradientsNorState) {
  Question q = question("a100-80", 1, 6, 8);
  q.fixed.precision = config::Precision::fp32;
  const std::int64_t all = shape::parameter_count(q.settings.model);
  EXPECT_THAT(three_questions(q).front().english, HasSubstr("take " + base::format_bytes(20 * all) + " of"));
  q.settings.model.path = "model";
  q.settings.lora.rank = 4;
  q.settings.lora.targets = "q_proj";
  const std::int64_t adapters = 6 * 4 * (1024 + 8 * 128);
  EXPECT_THAT(three_questions(q).front().english, HasSubstr("take " + base::format_bytes(4 * all + 20 * adapters)));
}

TEST(FullSearch, NoLayoutTakesLessThanItsLowerBounds) {
  for (const Question& q : small_questions()) {
    const machine::Placement placement(q.cluster, q.world, q.ranks_per_host);
    plan::DataFacts data = q.data;
    data.vocab = q.settings.model.vocab;
    data.samples = 1 << 20;
    Bounds bounds(q.settings, data, placement);
    double tightness = 0;
    const auto all = every_layout_that_fits(q);
    ASSERT_GT(all.size(), 20u);
    for (const Estimate& e : all) {
      const double bound = bounds.step_seconds(e.layout);
      EXPECT_LE(bound, e.time.step * (1 + 1e-9)) << name_of(e.layout);
      EXPECT_LE(bounds.memory_bytes(e.layout), e.memory.total()) << name_of(e.layout);
      tightness += bound / e.time.step / static_cast<double>(all.size());
    }
    RecordProperty("tightness", std::to_string(tightness));
    EXPECT_GT(tightness, 0.5);
  }
}

// A rank whose attention has no rate of its own may be the faster one.
TEST(LowerBounds, AreThoseOfTheRankThatPassesAttentionsRowsFastest) {
  const Question one = question("cloud-2-cores", 2, 4, 8);
  Question mixed = one;
  mixed.cluster.hosts.front().count = 1;
  mixed.cluster.hosts.push_back(mixed.cluster.hosts.front());
  machine::Host& slow = mixed.cluster.hosts.back();
  slow.name = "slow";
  for (machine::Rates* rates : {&slow.rates, &slow.alone}) rates->fp32.attention_bytes_per_second = rates->between_bytes_per_second / 50;
  plan::DataFacts data = one.data;
  data.vocab = one.settings.model.vocab;
  data.samples = 1 << 20;
  Layout layout;
  layout.global = 8;
  const auto bound = [&](const Question& q) { return Bounds(q.settings, data, machine::Placement(q.cluster, 2, 1)).step_seconds(layout); };
  EXPECT_EQ(bound(mixed), bound(one));
}

TEST(Search, ShortSamplesTakeTheTimeAndMemoryOfTheirTokens) {
  Question q = with_devices(question("a100-80", 1, 8, 16), 1);
  q.fixed.precision = config::Precision::fp32;
  q.fixed.micro = 4;
  const Answer full = search(q);
  know_data(&q, short_data());
  const Answer tokens = search(q);
  const Estimate &of_full = full.best.front(), &of_tokens = tokens.best.front();
  EXPECT_EQ(of_full.tokens, 16 * 512);
  EXPECT_EQ(of_tokens.tokens, 16 * 76);
  EXPECT_LT(of_tokens.time.compute, of_full.time.compute / 4);
  EXPECT_LT(of_tokens.model_flops, of_full.model_flops * 76 / 512);
  EXPECT_LT(of_tokens.memory.activations, of_full.memory.activations * 520 / 2048);
  EXPECT_GT(of_tokens.memory.activations, of_full.memory.activations * 4 * 76 / 2048);  // of the largest microbatch
}

TEST(Search, MicrobatchesFilledByTokensStayFilledByTokens) {
  Question q = with_devices(question("a100-80", 1, 8, 16), 2);
  q.fixed.precision = config::Precision::fp32;
  q.settings.batch.tokens_per_microbatch = 1024;
  q.settings.batch.global_batch_size = 16;
  const Answer answer = search(q);
  ASSERT_FALSE(answer.best.empty());
  const Estimate& best = answer.best.front();
  EXPECT_EQ(best.layout.tokens, 1024);
  EXPECT_EQ(best.tokens, 16 * 512);
  EXPECT_EQ(best.microbatches, 8 / best.layout.dp);
  EXPECT_THAT(name_of(best.layout), HasSubstr("microbatches of 1024 tokens"));
}

TEST(Search, MoreMicrobatchesThanAStepMayHaveAreRefusedAtOnce) {
  Question q = question("h100", 1, 6, 4000000);
  q.fixed.micro = 1;
  try {
    search(q);
    FAIL() << "was not refused";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("microbatches must be from 1 to 1000000"));
  }
}

TEST(Search, WithBoundsFindsWhatTheExhaustiveOneFinds) {
  for (const Question& q : small_questions()) {
    const Answer answer = search(q);
    const auto all = every_layout_that_fits(q);
    ASSERT_EQ(answer.best.size(), 5u);
    for (std::size_t i = 0; i < answer.best.size(); ++i) EXPECT_EQ(answer.best[i].time.step, all[i].time.step);
    EXPECT_LT(answer.simulated, static_cast<std::int64_t>(all.size()));
  }
}

}  // namespace
}  // namespace troika::planner
