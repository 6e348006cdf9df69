#include "doctor/judge.h"

#include <errno.h>
#include <gmock/gmock.h>

namespace troika::doctor {
namespace {
using testing::AllOf;
using testing::HasSubstr;

// Every two of four hosts, both ways, all well.
class Pairs {
 public:
  Pairs() {
    for (const char* from : {"a", "b", "c", "d"}) {
      HostReport report;
      report.host = from;
      reports.push_back(report);
      for (const char* to : {"a", "b", "c", "d"})
        if (std::string(from) != to) pairs.push_back(well(from, to));
    }
  }
  PairReport& way(const std::string& from, const std::string& to) {
    for (PairReport& pair : pairs)
      if (pair.from == from && pair.to == to) return pair;
    throw std::out_of_range(from + to);
  }
  template <class Break>
  void between(const std::string& host, const Break& harm) {
    for (PairReport& pair : pairs)
      if (pair.from == host || pair.to == host) harm(pair);
  }
  std::vector<Finding> ill(const std::set<std::string>& silent = {}) const {
    std::vector<Finding> some;
    for (const Finding& one : judge_pairs(reports, pairs, silent))
      if (one.status != Status::ok) some.push_back(one);
    return some;
  }

  std::vector<HostReport> reports;
  std::vector<PairReport> pairs;

 private:
  static PairReport well(const std::string& from, const std::string& to) {
    PairReport pair;
    pair.from = from;
    pair.to = to;
    pair.connecting = {"192.168.1.1", 4000, 0};
    pair.answered = true;
    pair.interface = "eth0";
    pair.round_trip_seconds = 2e-4;
    pair.late_round_trip_seconds = 4e-4;
    pair.clock_seconds = 1e-3;
    pair.clock_error_seconds = 1e-4;
    pair.small_datagrams = pair.full_datagrams = true;
    pair.full_bytes = 1472;
    pair.jumbo_bytes = 8972;
    if (from < to) pair.there_bytes_per_second = pair.back_bytes_per_second = 110e6;
    return pair;
  }
};

TEST(JudgePairs, FindsNothingBetweenHostsThatAreWell) {
  Pairs made;
  EXPECT_EQ(made.ill().size(), 0u);
  EXPECT_EQ(judge_pairs(made.reports, made.pairs, {}).size(), 4u);  // ports, mtu, clock, all_pairs
  EXPECT_EQ(judge_pairs(made.reports, {}, {}).size(), 0u);
}

TEST(JudgePairs, NamesTheHostWhoseFirewallDrops) {
  Pairs made;
  for (const char* from : {"a", "b", "d"}) made.way(from, "c").connecting.code = ETIMEDOUT;
  const auto ill = made.ill();
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].host, "c");
  EXPECT_EQ(ill[0].check, "ports");
  EXPECT_EQ(ill[0].status, Status::fail);
  EXPECT_THAT(ill[0].advice.english, HasSubstr("drops packets to c"));
}

TEST(JudgePairs, NamesThePairThatIsRefused) {
  Pairs made;
  made.way("a", "b").connecting.code = ECONNREFUSED;
  const auto ill = made.ill();
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].host, "a, b");
  EXPECT_THAT(ill[0].advice.english, HasSubstr("REJECT"));
  made.way("a", "b").connecting.code = EHOSTUNREACH;
  EXPECT_THAT(made.ill()[0].advice.english, HasSubstr("firewalld"));
}

TEST(JudgePairs, FailWhereThePortOfTheRanksIsClosedThoughOthersAreOpen) {
  Pairs made;
  for (const char* from : {"b", "c", "d"}) made.way(from, "a").named = Connecting{"192.168.1.1", 29500, ETIMEDOUT};
  const auto ill = made.ill();
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].host, "a");
  EXPECT_THAT(ill[0].measured.english, HasSubstr("192.168.1.1:29500"));
}

TEST(JudgePairs, FailsWhereLargeMessagesVanish) {
  Pairs made;
  made.between("b", [](PairReport& pair) { pair.stuck_bytes = 4096; });
  const auto ill = made.ill();
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].host, "b");
  EXPECT_EQ(ill[0].check, "mtu");
  EXPECT_EQ(ill[0].status, Status::fail);
  EXPECT_EQ(ill[0].measured.english, "small messages arrive, but those of 4096 bytes do not");
}

TEST(JudgePairs, WarnsWhereOnlyDatagramsOfFullSizeVanish) {
  Pairs made;
  made.way("a", "b").jumbo_datagrams = false;
  auto ill = made.ill();
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].status, Status::warn);
  EXPECT_THAT(ill[0].measured.english, HasSubstr("8972"));
  made.way("a", "b") = made.way("a", "c");
  made.way("a", "c").small_datagrams = false;  // a firewall: nothing is known of large ones
  made.way("a", "c").full_datagrams.reset();
  EXPECT_EQ(made.ill().size(), 0u);
}

TEST(JudgePairs, NamesTheHostWithTheWrongClock) {
  Pairs made;
  made.between("d", [](PairReport& pair) { pair.clock_seconds = pair.to == "d" ? 2.5 : -2.5; });
  const auto ill = made.ill();
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].host, "d");
  EXPECT_EQ(ill[0].check, "clock");
  EXPECT_EQ(ill[0].status, Status::warn);
  EXPECT_THAT(ill[0].advice.english, HasSubstr("2.5 s apart"));
}

TEST(JudgePairs, DoesNotTakeASlowWayForAWrongClock) {
  Pairs made;
  made.way("a", "b").clock_seconds = 0.2;
  made.way("a", "b").clock_error_seconds = 0.18;
  EXPECT_EQ(made.ill().size(), 0u);
}

TEST(JudgePairs, WarnsOfANameThatLeadsTheOthersToThemselves) {
  Pairs made;
  made.way("b", "a").addresses_of_name = {"127.0.1.1"};
  made.way("c", "a").addresses_of_name = {"127.0.1.1", "192.168.1.1"};
  const auto ill = made.ill();
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].check, "names");
  EXPECT_EQ(ill[0].host, "b");
  EXPECT_EQ(ill[0].measured.english, "b resolves a to 127.0.1.1");
}

TEST(JudgePairs, WarnsOfTrafficByAnotherInterfaceThanTheStatedOrTheWiredOne) {
  Pairs made;
  made.reports[0].facts.interface = "eth1";
  Interface wlan0, eth0;
  wlan0.name = "wlan0";
  wlan0.wireless = true;
  wlan0.addresses = {{"192.168.2.2", 24}};
  eth0.name = "eth0";
  eth0.addresses = {{"192.168.1.2", 24}};
  made.reports[1].facts.interfaces = {eth0, wlan0};
  made.way("b", "c").interface = "wlan0";
  const auto ill = made.ill();
  ASSERT_EQ(ill.size(), 2u);
  EXPECT_EQ(ill[0].host, "a");
  EXPECT_THAT(ill[0].advice.english, HasSubstr("not through comm.interface eth1"));
  EXPECT_EQ(ill[1].host, "b");
  EXPECT_THAT(ill[1].advice.english, HasSubstr("set comm.interface to eth0"));
}

TEST(JudgePairs, NamesTheHostThatAllSlowLinksHaveInCommon) {
  Pairs made;
  made.between("c", [](PairReport& pair) {
    if (pair.there_bytes_per_second > 0) pair.back_bytes_per_second = 12e6;
  });
  const auto ill = made.ill();
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].host, "c");
  EXPECT_EQ(ill[0].check, "all_pairs");
  EXPECT_THAT(ill[0].measured.english, HasSubstr("12 MB/s"));
  EXPECT_THAT(ill[0].advice.english, HasSubstr("have c in common"));
}

TEST(JudgePairs, WarnsOfALinkThatDelaysSomeMessages) {
  Pairs made;
  made.way("a", "b").late_round_trip_seconds = 5e-3;  // as a busy processor does
  EXPECT_EQ(made.ill().size(), 0u);
  made.way("a", "b").late_round_trip_seconds = 30e-3;
  const auto ill = made.ill();
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].host, "a, b");
}

TEST(JudgePairs, HasSlowAndLateLinksMeasuredAgainAndTakesTheBetter) {
  Pairs made;
  EXPECT_TRUE(worth_a_second_look(made.pairs).empty());
  made.way("a", "b").back_bytes_per_second = 20e6;
  made.way("a", "c").there_bytes_per_second = 10e6;
  made.way("c", "d").late_round_trip_seconds = 30e-3;
  const std::vector<std::size_t> again = worth_a_second_look(made.pairs);
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(made.pairs[again[0]].to, "c");
  EXPECT_EQ(made.pairs[again[2]].from, "c");
  for (const std::size_t number : again) take_better(made.way("b", "c"), made.pairs[number]);
  EXPECT_EQ(made.ill().size(), 0u);
}

TEST(JudgePairs, LeavesOutHostsThatFellSilent) {
  Pairs made;
  made.between("b", [](PairReport& pair) { pair.connecting.code = ETIMEDOUT; });
  EXPECT_EQ(made.ill({"b"}).size(), 0u);
}

TEST(JudgePairs, SaysWhereAnotherDoctorDidNotAnswer) {
  Pairs made;
  made.way("a", "b").answered = false;
  const auto ill = made.ill();
  ASSERT_EQ(ill.size(), 1u);
  EXPECT_EQ(ill[0].status, Status::not_checked);
}

}  // namespace
}  // namespace troika::doctor
