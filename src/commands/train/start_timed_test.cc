// How long a user waits: for help, and for the first step.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double seconds_of(const Words& words) {
  const double begin = base::monotonic_seconds();
  const End end = run(words);
  EXPECT_EQ(end.code, 0) << end.output;
  return end.when - begin;
}

TEST(Start, HelpAndVersionComeWithin50Milliseconds) {
  for (const Words& words : {Words{"--help"}, Words{"help", "train"}, Words{"launch", "--help"}, Words{"version"}}) {
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) seconds.push_back(seconds_of(troika(words)));
    EXPECT_LT(median(seconds), 0.05) << words[0];
  }
}

// From the start of the process to the row of the first step, data preparation included.
double seconds_to_first_step(const Folder& folder, const std::string& corpus, int turn) {
  const std::string out = folder / ("run" + std::to_string(turn));
  const double begin = base::monotonic_seconds();
  Program program(troika(small_run(corpus, out) + Words{"--steps", "1"}));
  await_step(out, 1);
  const double seconds = base::monotonic_seconds() - begin;
  EXPECT_EQ(program.wait().code, 0);
  return seconds;
}

TEST(Start, TheFirstStepEndsWithin600Milliseconds) {
  const Folder folder;
  const std::string corpus = write_corpus(folder);
  std::vector<double> seconds;
  for (int turn = 0; turn < 5; ++turn) seconds.push_back(seconds_to_first_step(folder, corpus, turn));
  std::printf("first step after %.3f s\n", median(seconds));
  EXPECT_LT(median(seconds), 0.6);
}

}  // namespace
}  // namespace troika::commands
