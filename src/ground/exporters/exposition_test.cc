#include "exporters/exposition.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace troika::exporters {
namespace {
using Kind = Family::Kind;

Exposition one_of_each(TextFormat format) {
  Exposition to(format);
  to.begin({Kind::gauge, "a_celsius", "celsius", "Of the \"zone\"\nand its \\ path."});
  to.sample(1.5, {{"host", "a\"b\\c\nd"}});
  to.sample(std::nan(""));
  to.sample(std::numeric_limits<double>::infinity());
  to.begin({Kind::gauge, "without_samples", "", "Nothing of it is shown."});
  to.begin({Kind::counter, "b_bytes", "bytes", "A count."});
  to.sample(4294967296.0);
  to.begin({Kind::info, "c", "", "Facts."});
  to.info({{"version", "1"}});
  to.begin({Kind::state_set, "d", "", "A state."});
  to.state({"on", "off"}, "off");
  to.begin({Kind::histogram, "e_seconds", "seconds", "Times."});
  to.histogram({0.5, 1}, {2, 0, 1}, 3.25);
  return to;
}

TEST(Exposition, WritesOpenMetrics) {
  EXPECT_EQ(one_of_each(TextFormat::open_metrics).text(),
            "# TYPE a_celsius gauge\n"
            "# UNIT a_celsius celsius\n"
            "# HELP a_celsius Of the \\\"zone\\\"\\nand its \\\\ path.\n"
            "a_celsius{host=\"a\\\"b\\\\c\\nd\"} 1.5\n"
            "a_celsius NaN\n"
            "a_celsius +Inf\n"
            "# TYPE b_bytes counter\n"
            "# UNIT b_bytes bytes\n"
            "# HELP b_bytes A count.\n"
            "b_bytes_total 4294967296\n"
            "# TYPE c info\n"
            "# HELP c Facts.\n"
            "c_info{version=\"1\"} 1\n"
            "# TYPE d stateset\n"
            "# HELP d A state.\n"
            "d{d=\"on\"} 0\n"
            "d{d=\"off\"} 1\n"
            "# TYPE e_seconds histogram\n"
            "# UNIT e_seconds seconds\n"
            "# HELP e_seconds Times.\n"
            "e_seconds_bucket{le=\"0.5\"} 2\n"
            "e_seconds_bucket{le=\"1.0\"} 2\n"
            "e_seconds_bucket{le=\"+Inf\"} 3\n"
            "e_seconds_sum 3.25\n"
            "e_seconds_count 3\n"
            "# EOF\n");
}

TEST(Exposition, HoldsNoTextThatSteersATerminal) {
  Exposition to(TextFormat::open_metrics);
  to.begin({Kind::info, "c", "", "Facts."});
  to.info({{"host", "a\x1b[2J\r\xC2\x9B\u202E\xFF"}});
  EXPECT_THAT(to.text(), ::testing::HasSubstr(
                             R"(c_info{host="a\\x1b[2J\\x0d\\xc2\\x9b\\xe2\\x80\\xae\\xff"} 1)"));
}

TEST(Exposition, KeepsAFamilyOfSeveralRunsTogether) {
  Exposition to(TextFormat::open_metrics);
  for (const char* run : {"a", "b/c"}) {
    to.of_run(run);
    to.begin({Kind::gauge, "x", "", "First."});
    to.sample(1);
    to.begin({Kind::counter, "y", "", "Second."});
    to.sample(2, {{"rank", "0"}});
  }
  EXPECT_EQ(to.text(),
            "# TYPE x gauge\n# HELP x First.\nx{run=\"a\"} 1\nx{run=\"b/c\"} 1\n"
            "# TYPE y counter\n# HELP y Second.\ny_total{run=\"a\",rank=\"0\"} 2\ny_total{run=\"b/c\",rank=\"0\"} 2\n"
            "# EOF\n");
}

TEST(Exposition, WritesPrometheusText) {
  EXPECT_EQ(one_of_each(TextFormat::prometheus).text(),
            "# TYPE a_celsius gauge\n"
            "# HELP a_celsius Of the \"zone\"\\nand its \\\\ path.\n"
            "a_celsius{host=\"a\\\"b\\\\c\\nd\"} 1.5\n"
            "a_celsius NaN\n"
            "a_celsius +Inf\n"
            "# TYPE b_bytes_total counter\n"
            "# HELP b_bytes_total A count.\n"
            "b_bytes_total 4294967296\n"
            "# TYPE c_info gauge\n"
            "# HELP c_info Facts.\n"
            "c_info{version=\"1\"} 1\n"
            "# TYPE d gauge\n"
            "# HELP d A state.\n"
            "d{d=\"on\"} 0\n"
            "d{d=\"off\"} 1\n"
            "# TYPE e_seconds histogram\n"
            "# HELP e_seconds Times.\n"
            "e_seconds_bucket{le=\"0.5\"} 2\n"
            "e_seconds_bucket{le=\"1.0\"} 2\n"
            "e_seconds_bucket{le=\"+Inf\"} 3\n"
            "e_seconds_sum 3.25\n"
            "e_seconds_count 3\n");
}

TEST(FormatFor, GivesOpenMetricsToThoseThatAskForIt) {
  // Prometheus 2.42 and 3.0.
  EXPECT_EQ(format_for("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                       "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
            TextFormat::open_metrics);
  EXPECT_EQ(
      format_for("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;"
                 "version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;"
                 "q=0.3,*/*;q=0.2"),
      TextFormat::open_metrics);
  EXPECT_EQ(format_for("application/openmetrics-text"), TextFormat::open_metrics);
}

TEST(FormatFor, GivesTextToAllOthers) {
  for (const char* accept : {"", "*/*", "text/plain", "text/html,application/xhtml+xml,*/*;q=0.8",
                             "application/openmetrics-text;version=2.0.0", "application/openmetrics-text;q=0",
                             "application/openmetrics-text;q=0.1,text/plain;q=0.5", "application/openmetrics-text;q=x",
                             ";;,,;=", "application/json"})
    EXPECT_EQ(format_for(accept), TextFormat::prometheus) << accept;
}

TEST(ContentTypeOf, NamesTheVersions) {
  EXPECT_EQ(content_type_of(TextFormat::open_metrics), "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_EQ(content_type_of(TextFormat::prometheus), "text/plain; version=0.0.4; charset=utf-8");
}

}  // namespace
}  // namespace troika::exporters
