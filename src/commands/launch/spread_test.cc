#include "commands/launch/launch.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "commands/cli.h"
#include "commands/launch/options.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

launch::LaunchFlags flags_of(const std::vector<std::string>& words) {
  config::FlagReading reading;
  launch::LaunchFlags f = read_launch_flags(words, {}, &reading);
  reading.finish();
  return f;
}

std::string error_of_spread(const std::vector<std::string>& words) {
  try {
    spread_launch(flags_of(words), {}, base::Language::english);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Spread, TellsAHostItsPlaceAndWhatTheRunIs) {
  const launch::LaunchFlags f = flags_of({"--hosts",
                                          "pi1,pi2",
                                          "--nproc-per-node",
                                          "auto",
                                          "--master-port",
                                          "29555",
                                          "--bind",
                                          "none",
                                          "--max-restarts",
                                          "2",
                                          "--join-timeout",
                                          "7.5",
                                          "--metrics-port",
                                          "0",
                                          "--log-dir",
                                          "my logs",
                                          "--secret-file",
                                          "s",
                                          "--",
                                          "train",
                                          "c.yaml",
                                          "--steps",
                                          "3"});
  EXPECT_THAT(launch_words(f, {2, 1, "10.0.0.1"}, base::Language::chinese),
              ElementsAre("launch", "--orders-on-input", "--lang", "zh", "--nnodes", "2", "--node-rank", "1",
                          "--master-addr", "10.0.0.1", "--master-port", "29555", "--nproc-per-node", "auto",
                          "--join-timeout", "7.5", "--max-restarts", "2", "--log-dir", "my logs", "--bind", "none",
                          "--", "train", "c.yaml", "--steps", "3"));
  EXPECT_THAT(launch_words(f, {2, 0, "10.0.0.1"}, base::Language::english),
              AllOf(Contains("--metrics-port"), Contains("--metrics-address")));
}

TEST(Spread, ReadsItsOwnWordsBack) {
  const launch::LaunchFlags f = flags_of({"--hosts", "pi1", "--", "train", "--steps", "3"});
  std::vector<std::string> words = launch_words(f, {1, 0, "127.0.0.1"}, base::Language::english);
  words = without_language({words.begin() + 1, words.end()});
  const launch::LaunchFlags back = flags_of(words);
  EXPECT_TRUE(back.orders_on_input);
  EXPECT_EQ(back.hosts.node_rank, 0);
  EXPECT_EQ(back.worker, f.worker);
}

TEST(Spread, RefusesWhatContradictsTheHosts) {
  const std::string error =
      error_of_spread({"--hosts", "pi1,pi2", "--nnodes", "3", "--node-rank", "1", "--standalone", "--", "train"});
  EXPECT_THAT(error, HasSubstr("--nnodes is 3 but --hosts names 2"));
  EXPECT_THAT(error, HasSubstr("--hosts and --node-rank"));
  EXPECT_THAT(error, HasSubstr("--hosts and --standalone"));
  EXPECT_THAT(error_of_spread({"--hosts", "pi1,pi2"}), HasSubstr("nothing to launch"));
  EXPECT_THAT(error_of_spread({"--hosts", "pi 1", "--", "train"}), HasSubstr("'pi 1' has more than one host"));
}

}  // namespace
}  // namespace troika::commands
