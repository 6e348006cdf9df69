#include "inference/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace troika::inference {
namespace {
using Logits = std::vector<float>;

constexpr int draws = 40000;

// How often each id is drawn.
std::map<std::int32_t, double> shares(const Logits& logits, const Sampling& sampling) {
  const base::Philox random(3, "shares");
  std::map<std::int32_t, double> found;
  for (int i = 0; i < draws; ++i)
    found[draw(logits, sampling, random.uniform(static_cast<std::uint64_t>(i)))] += 1.0 / draws;
  return found;
}

void expect_shares(const Logits& logits, const Sampling& sampling, const std::map<std::int32_t, double>& want) {
  const auto got = shares(logits, sampling);
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [id, share] : want) EXPECT_NEAR(got.at(id), share, 0.01) << id;
}

Logits of(const std::vector<double>& probabilities) {
  Logits logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)) + 7.0f);
  return logits;
}

const Logits five = of({0.1, 0.4, 0.05, 0.25, 0.2});

TEST(Sampling, DrawsEachTokenAsOftenAsItsProbability) {
  expect_shares(five, {}, {{0, 0.1}, {1, 0.4}, {2, 0.05}, {3, 0.25}, {4, 0.2}});
}

TEST(Sampling, TemperatureSharpensOrFlattens) {
  Sampling sampling;
  sampling.temperature = 0.5;  // squares
  const double sum = 0.01 + 0.16 + 0.0025 + 0.0625 + 0.04;
  expect_shares(five, sampling,
                {{0, 0.01 / sum}, {1, 0.16 / sum}, {2, 0.0025 / sum}, {3, 0.0625 / sum}, {4, 0.04 / sum}});
  sampling.temperature = 1e-6;
  expect_shares(five, sampling, {{1, 1.0}});
}

TEST(Sampling, TemperatureZeroTakesTheLikeliestAndOfEqualsTheLowest) {
  Sampling sampling;
  sampling.temperature = 0;
  EXPECT_EQ(draw({1, 3, 2, 3, 3}, sampling, 0.99), 1);
  EXPECT_EQ(draw({-5}, sampling, 0), 0);
}

TEST(Sampling, TopKKeepsExactlyTheKLikeliest) {
  Sampling sampling;
  sampling.top_k = 2;
  expect_shares(five, sampling, {{1, 0.4 / 0.65}, {3, 0.25 / 0.65}});
  sampling.top_k = 9;
  EXPECT_EQ(shares(five, sampling).size(), 5u);
  sampling.top_k = 2;
  expect_shares({1, 1, 1, 1}, sampling, {{0, 0.5}, {1, 0.5}});  // ties: the lower ids
}

TEST(Sampling, TopPKeepsTheLikeliestThatFirstReachIt) {
  Sampling sampling;
  sampling.top_p = 0.6;
  expect_shares(five, sampling, {{1, 0.4 / 0.65}, {3, 0.25 / 0.65}});
  sampling.top_p = 0.66;
  expect_shares(five, sampling, {{1, 0.4 / 0.85}, {3, 0.25 / 0.85}, {4, 0.2 / 0.85}});
  sampling.top_p = 1e-9;
  expect_shares(five, sampling, {{1, 1.0}});
}

TEST(Sampling, TopPIsOfWhatTopKLeaves) {
  Sampling sampling;
  sampling.top_k = 3;
  sampling.top_p = 0.45;  // the likeliest has 0.4 of 0.85
  expect_shares(five, sampling, {{1, 1.0}});
  sampling.top_k = 4;  // 0.4 of 0.95
  expect_shares(five, sampling, {{1, 0.4 / 0.65}, {3, 0.25 / 0.65}});
}

TEST(Sampling, MinPDropsWhatIsMuchLessLikelyThanTheLikeliest) {
  Sampling sampling;
  sampling.min_p = 0.49;
  expect_shares(five, sampling, {{1, 0.4 / 0.85}, {3, 0.25 / 0.85}, {4, 0.2 / 0.85}});
  sampling.min_p = 1;
  expect_shares(five, sampling, {{1, 1.0}});
}

// Against sorting everything, over a vocabulary that needs several rounds of sorting.
TEST(Sampling, TopPOfAManyTokensIsThatOfAFullSort) {
  const base::Philox random(5, "logits");
  Logits logits(5000);
  random.fill_normal(0, 5000, logits.data());
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  double whole = 0;
  for (const float x : logits) whole += std::exp(static_cast<double>(x));
  for (const double p : {0.01, 0.3, 0.9, 0.999}) {
    Sampling sampling;
    sampling.top_p = p;
    std::size_t count = 0;
    for (double kept = 0; kept < p * whole; ++count) kept += std::exp(static_cast<double>(logits[order[count]]));
    EXPECT_EQ(draw(logits, sampling, 0), static_cast<std::int32_t>(order.front()));
    EXPECT_EQ(draw(logits, sampling, 1 - 1e-12), static_cast<std::int32_t>(order[count - 1])) << p;
  }
}

TEST(Sampling, ThePenaltyDividesPositiveLogitsAndMultipliesOthersOnce) {
  SeenIds seen;
  for (const std::int32_t id : {3, 0, 3, 9, 3}) seen.add(id);
  EXPECT_EQ(seen.ids(), (std::vector<std::int32_t>{3, 0, 9}));
  Logits logits{-2, 4, 0, 6};
  penalise_repetition(logits, seen, 2);
  EXPECT_EQ(logits, (Logits{-4, 4, 0, 3}));
  penalise_repetition(logits, seen, 1);
  EXPECT_EQ(logits, (Logits{-4, 4, 0, 3}));
}

TEST(Sampling, LogitsThatAreNoNumbersAreAnError) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const Logits& logits : {Logits{1, nan}, Logits{nan, 1}, Logits{infinity, 0}, Logits{-infinity, -infinity}})
    EXPECT_THROW(draw(logits, {}, 0.5), base::DataError);
  EXPECT_EQ(draw({-infinity, 0}, {}, 0.5), 1);
}

}  // namespace

namespace {

// The text that comes out when `text` goes in `step` bytes at a time.
std::string through(const std::vector<std::string>& stops, const std::string& text, std::size_t step, bool* found) {
  StopText stop(stops);
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += step) out += stop.add(text.substr(i, step));
  *found = stop.found();
  return out + stop.rest();
}

void expect_text(const std::vector<std::string>& stops, const std::string& text, const std::string& want) {
  for (std::size_t step = 1; step <= text.size(); ++step) {
    bool found = false;
    EXPECT_EQ(through(stops, text, step, &found), want) << step;
    EXPECT_EQ(found, want.size() < text.size());
  }
}

TEST(StopText, EndsTheTextBeforeTheStopHoweverItArrives) {
  expect_text({"END"}, "one ENtwo ENDthree END", "one ENtwo ");
  expect_text({"\n\n"}, "a\nb\n\nc", "a\nb");
  expect_text({"aab"}, "aaaab", "aa");
  expect_text({"x"}, "xyz", "");
}

TEST(StopText, TheFirstOfSeveralStopsCounts) {
  expect_text({"three", "two"}, "one two three", "one ");
  expect_text({"abcd", "bc"}, "abce", "a");
}

TEST(StopText, WithoutAStopNothingIsLost) {
  expect_text({"END"}, "text EN", "text EN");
  expect_text({}, "text", "text");
}

TEST(StopText, HoldsBackOnlyWhatMayBecomeAStop) {
  StopText stop({"END", "\nQ:"});
  EXPECT_EQ(stop.add("abc"), "abc");
  EXPECT_EQ(stop.add("d\n"), "d");
  EXPECT_EQ(stop.add("Q"), "");
  EXPECT_EQ(stop.add("E"), "\nQ");
  EXPECT_EQ(stop.add("N!"), "EN!");
}

TEST(StopText, RefusesAnEmptyStop) { EXPECT_THROW(StopText({"a", ""}), base::ConfigError); }

}  // namespace

namespace {
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GenerationConfig, ReadsWhatIsStatedAndLeavesTheRestUnset) {
  const auto config = parse_generation_config(
      R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "repetition_penalty": 1.05,
          "eos_token_id": [151645, 151643], "bos_token_id": 151643, "transformers_version": "4.51.0"})",
      "x");
  EXPECT_EQ(config.do_sample, true);
  EXPECT_EQ(config.temperature, 0.6);
  EXPECT_EQ(config.top_k, 20);
  EXPECT_EQ(config.top_p, 0.95);
  EXPECT_EQ(config.repetition_penalty, 1.05);
  EXPECT_EQ(config.min_p, std::nullopt);
  EXPECT_THAT(config.stop_ids, ElementsAre(151645, 151643));
}

TEST(GenerationConfig, OneStopIdAndNullsAndNothing) {
  const auto one = parse_generation_config(R"({"eos_token_id": 50256, "temperature": null, "do_sample": false})", "x");
  EXPECT_THAT(one.stop_ids, ElementsAre(50256));
  EXPECT_EQ(one.temperature, std::nullopt);
  EXPECT_EQ(one.do_sample, false);
  EXPECT_TRUE(parse_generation_config("{}", "x").stop_ids.empty());
}

TEST(GenerationConfig, AnyNumberOfLikeliestTokensIsTaken) {
  EXPECT_EQ(parse_generation_config(R"({"top_k": 1000000000})", "x").top_k, 10000000);
}

TEST(GenerationConfig, StopIdsOutsideTheVocabularyAreTold) {
  const auto config = parse_generation_config(R"({"eos_token_id": [7, 512, 99999]})", "x");
  EXPECT_THAT(foreign_stop_ids(config, 512).english,
              HasSubstr("eos_token_id has 512, 99999, but the vocabulary has 512 tokens"));
  EXPECT_TRUE(foreign_stop_ids(config, 100000).empty());
}

TEST(GenerationConfig, RefusesOtherTypesAndValuesOutOfRange) {
  for (const char* text :
       {R"({"temperature": "hot"})", R"({"temperature": -1})", R"({"top_p": 1.5})", R"({"top_k": -3})",
        R"({"min_p": [1]})", R"({"do_sample": 1})", R"({"eos_token_id": -1})", R"({"eos_token_id": "</s>"})",
        R"({"eos_token_id": [1, 99999999999]})", R"({"repetition_penalty": 0})", R"([])", R"({"temperature": )"}) {
    EXPECT_THROW(parse_generation_config(text, "x"), base::DataError) << text;
  }
  try {
    parse_generation_config(R"({"top_p": 1.5})", "folder/generation_config.json");
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("folder/generation_config.json: top_p is 1.5 but must be a number from 0 to 1"));
  }
}

}  // namespace

}  // namespace troika::inference
