#include "doctor/consultation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "doctor/finding.h"

namespace troika::doctor {
namespace {
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// Members on a made-up clock. Each answers after `delay`, unless it is told to do otherwise.
class MadeMembers : public Members {
 public:
  explicit MadeMembers(std::size_t count) : silent_from(count, 1e9), dies_at(count, 1e9), delay(count, 0.1) {
    for (std::size_t i = 0; i < count; ++i) {
      answer(i, 0.2, {{"here", to_json(PeerDoctor{"", "name" + std::to_string(i), {"10.0.0.1"}, 1, 2, 0})}});
      answer(i, 5, {{"report", to_json(HostReport{"x", {}, {}})}});
    }
  }
  std::size_t count() const override { return delay.size(); }
  std::string name(std::size_t member) const override { return named ? "pi" + std::to_string(member) : ""; }

  void say(std::size_t member, const std::string& line) override {
    const json asked = json::parse(line);
    said[member].push_back(asked["ask"]);
    if (asked["ask"] == "meet") {
      const std::string peer = asked["peer"]["host"];
      EXPECT_EQ(busy.count(member), 0u) << "asked while it works";
      busy.insert(member);
      PairReport pair;
      pair.answered = true;
      if (asked["rates"] == 1) pair.there_bytes_per_second = pair.back_bytes_per_second = rate(member, peer);
      meetings.emplace_back(member, peer, now);
      answer(member, now + delay[member], {{"met", to_json(pair)}});
    } else if (asked["ask"] == "write") {
      answer(member, now + 0.01, {{"written", 1}, {"folder", "/runs"}});
    } else if (asked["ask"] == "look") {
      answer(member, now + 0.01, {{"seen", -1.0}});
    }
  }

  std::vector<Heard> hear(double seconds) override {
    double next = now + seconds;
    for (const auto& [time, heard] : coming)
      if (time >= now) next = std::min(next, time);
    now = std::max(next, now + 1e-3);
    std::vector<Heard> heard;
    for (auto one = coming.begin(); one != coming.end() && one->first <= now;) {
      const std::size_t member = one->second.member;
      if (one->first < silent_from[member] && one->first < dies_at[member]) {
        busy.erase(member);
        heard.push_back(one->second);
      }
      one = coming.erase(one);
    }
    for (std::size_t member = 0; member < count(); ++member)
      if (dies_at[member] <= now && told_dead.insert(member).second) heard.push_back({member, "", base::verbatim("signal 9")});
    return heard;
  }

  Consultation consult_all(Thoroughness thoroughness = Thoroughness::full) {
    return consult(*this, {}, thoroughness, [this] { return now; });
  }

  double now = 0;
  bool named = true;
  std::function<double(std::size_t, const std::string&)> rate = [](std::size_t, const std::string&) { return 1e8; };
  std::vector<double> silent_from, dies_at, delay;
  std::map<std::size_t, std::vector<std::string>> said;
  std::vector<std::tuple<std::size_t, std::string, double>> meetings;
  std::set<std::size_t> busy, told_dead;
  std::multimap<double, Heard> coming;

 private:
  void answer(std::size_t member, double when, const json& line) {
    coming.insert({when, {member, line.dump()}});
  }
};

std::vector<std::string> silent_hosts(const Consultation& all) {
  std::vector<std::string> hosts;
  for (const auto& one : all.silent) hosts.push_back(one.host);
  return hosts;
}

TEST(PairsInRounds, HaveEveryTwoHostsOnceAndNobodyTwiceInARow) {
  for (std::size_t hosts = 0; hosts < 12; ++hosts) {
    const auto pairs = pairs_in_rounds(hosts);
    std::set<std::pair<std::size_t, std::size_t>> all(pairs.begin(), pairs.end());
    EXPECT_EQ(pairs.size(), hosts < 2 ? 0 : hosts * (hosts - 1) / 2) << hosts;
    EXPECT_EQ(all.size(), pairs.size());
    const std::size_t in_round = hosts / 2;
    for (std::size_t first = 0; in_round > 0 && first < pairs.size(); first += in_round) {
      std::set<std::size_t> seen;
      for (std::size_t i = first; i < first + in_round; ++i) seen.insert({pairs[i].first, pairs[i].second});
      EXPECT_EQ(seen.size(), 2 * in_round) << hosts;
    }
  }
}

TEST(Consultation, HasEveryReportAndEveryPairBothWays) {
  MadeMembers members(5);
  const Consultation all = members.consult_all();
  EXPECT_EQ(all.reports.size(), 5u);
  EXPECT_EQ(all.pairs.size(), 20u);
  EXPECT_EQ(all.pairs_left, 0u);
  EXPECT_TRUE(all.silent.empty());
  ASSERT_TRUE(all.shared.has_value());
  EXPECT_EQ(all.shared->readers.size(), 4u);
  EXPECT_LT(members.now, 7);
  for (const auto& [member, words] : members.said) EXPECT_EQ(words.back(), "end");
  EXPECT_EQ(exit_code_of(findings_of(all)), 0);
}

TEST(Consultation, NamesAHostThatNeverSaysAWordAndGoesOnWithoutIt) {
  MadeMembers members(4);
  members.silent_from[2] = 0;
  const Consultation all = members.consult_all();
  EXPECT_THAT(silent_hosts(all), ElementsAre("pi2"));
  EXPECT_EQ(all.reports.size(), 3u);
  EXPECT_EQ(all.pairs.size(), 6u);
  EXPECT_LT(std::get<2>(members.meetings[0]), 5.5);  // before anybody gave pi2 up
  EXPECT_LT(members.now, 13);
  const auto findings = findings_of(all);
  EXPECT_EQ(exit_code_of(findings), 75);
  EXPECT_EQ(findings.back().host, "pi2");
  EXPECT_THAT(findings.back().measured.english, HasSubstr("no reply within 12"));
}

TEST(Consultation, IsNotHeldUpByAHostThatFallsSilentWhileItMeasures) {
  MadeMembers members(4);
  members.silent_from[1] = 5.05;  // it has been asked to meet
  const Consultation all = members.consult_all();
  EXPECT_THAT(silent_hosts(all), ElementsAre("pi1"));
  EXPECT_THAT(all.silent[0].why.english, HasSubstr("stopped responding"));
  double last = 0;
  for (const auto& [member, peer, when] : members.meetings)
    if (member != 1 && peer != "pi1") last = std::max(last, when);
  EXPECT_LT(last, 6);  // the others' meetings
  EXPECT_LT(members.now, 20);
}

TEST(Consultation, SaysWhyADoctorEnded) {
  MadeMembers members(3);
  members.dies_at[0] = 1;
  const Consultation all = members.consult_all();
  EXPECT_THAT(silent_hosts(all), ElementsAre("pi0"));
  EXPECT_EQ(all.silent[0].why.english, "its doctor ended: signal 9");
  EXPECT_EQ(all.pairs.size(), 2u);
  EXPECT_FALSE(all.shared.has_value());
}

TEST(Consultation, TakesNonsenseForTheEndOfADoctor) {
  MadeMembers members(2);
  members.coming.insert({0.05, {1, "{\"here\": 7}"}});
  EXPECT_THAT(silent_hosts(members.consult_all()), ElementsAre("pi1"));
}

TEST(Consultation, IsOverWithinAMinuteWhateverHostsDo) {
  for (const std::size_t count : {std::size_t{3}, std::size_t{40}}) {
    MadeMembers members(count);
    std::fill(members.delay.begin(), members.delay.end(), 3.0);
    members.silent_from[1] = 7;
    members.silent_from[2] = 0;
    const Consultation all = members.consult_all();
    EXPECT_LT(members.now, 60) << count;
    EXPECT_EQ(all.silent.size(), 2u);
    EXPECT_EQ(all.pairs_left > 0, count > 3);
  }
}

TEST(Consultation, LooksTwiceAtASlowLinkWhileNobodyElseIsAtWork) {
  MadeMembers members(4);
  int looks = 0;
  members.rate = [&](std::size_t member, const std::string& peer) {
    if (member != 0 || peer != "pi1") return 1e8;
    return ++looks == 1 ? 1e7 : 9e7;
  };
  const Consultation all = members.consult_all();
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(all.pairs.size(), 12u);
  EXPECT_EQ(std::get<1>(members.meetings.back()), "pi1");
  double least = 1e9;
  for (const PairReport& pair : all.pairs)
    if (pair.there_bytes_per_second > 0) least = std::min(least, pair.there_bytes_per_second);
  EXPECT_EQ(least, 9e7);
}

TEST(Consultation, CallsHostsAsTheyCallThemselvesWhereNoNameIsGiven) {
  MadeMembers members(3);
  members.named = false;
  members.silent_from[2] = 0;
  const Consultation all = members.consult_all();
  EXPECT_EQ(all.reports[0].host, "name0");
  EXPECT_EQ(all.pairs[0].to, "name1");
  EXPECT_THAT(silent_hosts(all), ElementsAre("host 2"));
  MadeMembers alike(2);
  alike.named = false;
  alike.coming.insert(
      {0.3, {1, nlohmann::json({{"here", to_json(PeerDoctor{"", "name0", {}, 1, 2, 0})}}).dump()}});
  const Consultation both = alike.consult_all();
  EXPECT_EQ(both.reports[0].host, "name0 (0)");
  EXPECT_EQ(both.reports[1].host, "name0 (1)");
  EXPECT_EQ(both.pairs[0].to, "name0 (1)");
}

}  // namespace
}  // namespace troika::doctor
