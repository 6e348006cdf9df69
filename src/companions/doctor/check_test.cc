#include "doctor/check.h"

#include <gmock/gmock.h>

#include <set>

#include "doctor/made_host_test_support.h"
#include "doctor/finding.h"

namespace troika::doctor {
namespace {
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> named(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& one : findings) lines.push_back(one_line(one, base::Language::english));
  return lines;
}

TEST(Check, FindsNothingOnAHealthyHostWithAndWithoutMeasurements) {
  MadeHost host;
  std::vector<Finding> alarms;
  for (int turn = 0; turn < 2; ++turn) {
    for (const Finding& one : look_at(host.view))
      if (is_alarm(one) || one.status == Status::note) alarms.push_back(one);
    host.measured();
  }
  EXPECT_THAT(named(alarms), IsEmpty());
  EXPECT_THAT(named(quick_findings(host.view)), IsEmpty());
}

TEST(Check, FindsNothingAlarmingWhereTheSystemTellsNothing) {
  HostView view;
  view.proc = view.sys = view.etc = view.dev = "/nowhere";
  view.name = "box";
  EXPECT_THAT(named(quick_findings(view)), IsEmpty());
  std::set<Status> statuses;
  for (const Finding& one : look_at(view)) statuses.insert(one.status);
  EXPECT_EQ(statuses.count(Status::not_checked), 1u);
}

TEST(Check, NamesHostAndCheckInEveryFinding) {
  MadeHost host;
  host.measured();
  std::set<std::string> seen;
  for (const Finding& one : look_at(host.view)) {
    EXPECT_EQ(one.host, "pi1");
    seen.insert(one.check);
  }
  EXPECT_EQ(seen.size(), checks().size());
}

TEST(Check, OfALaunchLooksAtWhatTakesNoTime) {
  MadeHost host;
  host.view.limits.files_hard = 1024;
  host.view.resolve = [](const std::string&) -> std::optional<std::vector<std::string>> {
    ADD_FAILURE() << "asked a name server";
    return std::nullopt;
  };
  host.etc("hosts", "");
  host.measured().sync_seconds = 1;  // not looked at
  const std::vector<Finding> findings = quick_findings(host.view);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, "limits");
  EXPECT_THAT(one_line(findings[0], base::Language::english), HasSubstr("ulimit -n 65536"));
  EXPECT_THAT(one_line(findings[0], base::Language::chinese), HasSubstr("请在启动前执行"));
}

}  // namespace
}  // namespace troika::doctor
