#include "doctor/finding.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace troika::doctor {
namespace {
using testing::HasSubstr;
using testing::Not;

Finding made_finding(const std::string& host, const std::string& check, Status status) {
  return {host, check, status, base::verbatim("4 of 5"), base::say("no quota below that"), base::say("Run `ulimit -n 65536` before the start; in a systemd unit, set LimitNOFILE=65536, in limits.conf nofile.")};
}

TEST(DoctorReport, ExitCodesSayWhatWasFound) {
  EXPECT_EQ(exit_code_of({}), 0);
  EXPECT_EQ(exit_code_of({made_finding("a", "limits", Status::warn), made_finding("a", "swap", Status::not_checked)}),
            0);
  EXPECT_EQ(exit_code_of({made_finding("a", "ports", Status::fail)}), 2);
  EXPECT_EQ(exit_code_of({made_finding("a", "ports", Status::fail), made_finding("b", "answer", Status::fail)}), 75);
}

TEST(DoctorReport, IsAnArrayOfObjectsInTheLanguageAskedFor) {
  const std::vector<Finding> findings = {made_finding("a", "limits", Status::warn),
                                         {"b", "swap", Status::not_checked, base::say("not measured"), {}, {}}};
  const auto english = nlohmann::json::parse(json_report(findings, base::Language::english));
  ASSERT_EQ(english.size(), 2u);
  for (const char* key : {"host", "check", "status", "measured", "wanted", "advice"})
    EXPECT_TRUE(english[0].contains(key)) << key;
  EXPECT_EQ(english[0].size(), 6u);
  EXPECT_EQ(english[1]["status"], "not_checked");
  EXPECT_EQ(english[1]["measured"], "not measured");
  EXPECT_EQ(nlohmann::json::parse(json_report(findings, base::Language::chinese))[1]["measured"], "未测量");
  EXPECT_EQ(json_report({}, base::Language::english), "[]\n");
}

TEST(DoctorReport, SaysWhatIsAlikeOnceAndWhatIsWorstLast) {
  const std::string text = text_report({made_finding("a", "limits", Status::fail),
                                        made_finding("a", "swap", Status::ok), made_finding("b", "swap", Status::ok)},
                                       2, 3.2, base::Language::english);
  EXPECT_THAT(text, HasSubstr("ok          a, b swap   4 of 5; wanted: no quota below that\n"));
  EXPECT_LT(text.find("swap"), text.find("limits"));
  EXPECT_THAT(text, HasSubstr("            Run `ulimit -n 65536`"));
  EXPECT_THAT(text, HasSubstr("2 hosts checked in 3.2 s: 1 would stop the run"));
  EXPECT_THAT(text_report({made_finding("a", "swap", Status::warn)}, 1, 1, base::Language::english),
              HasSubstr("1 host checked in 1.0 s: 0 would stop the run, 1 warning, 0 notes, 0 not checked"));
  EXPECT_THAT(text_report({}, 1, 1, base::Language::chinese), HasSubstr("检查了 1 台主机"));
}

}  // namespace
}  // namespace troika::doctor
