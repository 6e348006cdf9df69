#include "schedule/trace/trace_json.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "schedule/shape_test_support.h"
#include "schedule/simulate/simulator.h"
#include "schedule/simulate/table_costs_test_support.h"

namespace troika::schedule {
namespace {

using ::testing::HasSubstr;

StepTrace simulated() {
  StepShape shape = shape_of(3, 1, 6);
  shape.boundary_bytes = 77;
  StepTrace trace =
      simulate(build("1f1b", shape), table_costs({{{Kind::fwd, -1}, 0.01}, {{Kind::bwd, -1}, 0.02}}, {1e-3, 1e5}));
  trace.step = 4;
  return trace;
}

void expect_near(const StepTrace& a, const StepTrace& b, double seconds) {
  ASSERT_EQ(a.ranks.size(), b.ranks.size());
  EXPECT_EQ(a.step, b.step);
  for (std::size_t l = 0; l < a.ranks.size(); ++l) {
    EXPECT_EQ(a.ranks[l].grid_rank, b.ranks[l].grid_rank);
    EXPECT_EQ(a.ranks[l].world_rank, b.ranks[l].world_rank);
    EXPECT_EQ(a.ranks[l].host, b.ranks[l].host);
    ASSERT_EQ(a.ranks[l].events.size(), b.ranks[l].events.size());
    for (std::size_t i = 0; i < a.ranks[l].events.size(); ++i) {
      const Event &x = a.ranks[l].events[i], &y = b.ranks[l].events[i];
      EXPECT_EQ(x.instruction, y.instruction);
      EXPECT_EQ(x.instruction.bytes, y.instruction.bytes);
      EXPECT_EQ(x.activity, y.activity);
      EXPECT_NEAR(x.begin_seconds, y.begin_seconds, seconds);
      EXPECT_NEAR(x.end_seconds, y.end_seconds, seconds);
    }
  }
}

TEST(RankTrace, RoundTripsExactly) {
  RankTrace trace{7, -0.1, simulated().ranks[1]};
  trace.timeline.host = "pi \"two\" \xc3\xa9";
  const RankTrace back = read_rank_trace(write_rank_trace(trace), "x");
  EXPECT_EQ(back.step, 7);
  EXPECT_EQ(back.clock_offset_seconds, -0.1);
  expect_near({7, {trace.timeline}}, {7, {back.timeline}}, 0);
}

TEST(RankTrace, HostNameThatIsNotTextDoesNotStopTheWriter) {
  RankTrace trace;
  trace.timeline.host = "\xff\xfe";
  EXPECT_NO_THROW(read_rank_trace(write_rank_trace(trace), "x"));
}

TEST(RankTrace, ShowsNoControlCharactersOfTheHost) {
  RankTrace trace{3, 0, simulated().ranks[0]};
  trace.timeline.host = "\x1b[2J";
  EXPECT_EQ(read_rank_trace(write_rank_trace(trace), "x").timeline.host, "\\x1b[2J");
}

TEST(RankTrace, TimesThatCannotBeAreRefused) {
  const std::string before = R"({"step":1,"lane":0,"world_rank":0,"host":"","clock_offset_seconds":)";
  EXPECT_THAT(refusal_of<base::DataError>([&] { read_rank_trace(before + R"(-1e308,"events":[]})", "a.json"); }),
              HasSubstr("not a valid time"));
  EXPECT_THAT(refusal_of<base::DataError>([&] {
                read_rank_trace(before + R"(0,"events":[{"instruction":"fwd 0.0","activity":"compute",
                    "begin_seconds":1e308,"end_seconds":1.7e308,"bytes":0}]})",
                                "a.json");
              }),
              HasSubstr("'begin_seconds' is 1e+308 s, which is not a valid time"));
}

TEST(RankTrace, DamagedFilesAreRefusedByName) {
  const std::string good = write_rank_trace({7, 0, simulated().ranks[0]});
  EXPECT_THAT(refusal_of<base::DataError>([&] { read_rank_trace(good.substr(0, good.size() / 2), "a.json"); }),
              HasSubstr("a.json"));
  EXPECT_THAT(refusal_of<base::DataError>([&] { read_rank_trace("[]", "a.json"); }), HasSubstr("'step' is missing"));
  std::string other = good;
  other.replace(other.find("\"compute\""), 9, "\"compost\"");
  EXPECT_THAT(refusal_of<base::DataError>([&] { read_rank_trace(other, "a.json"); }),
              HasSubstr("'compost' is not compute, wait or transfer"));
  other = good;
  other.replace(other.find("\"lane\":0"), 8, "\"lane\":-1");
  EXPECT_THAT(refusal_of<base::DataError>([&] { read_rank_trace(other, "a.json"); }), HasSubstr("'lane' is -1"));
  EXPECT_THAT(refusal_of<base::DataError>([&] {
                read_rank_trace(R"({"step":1,"lane":0,"world_rank":0,"host":"","clock_offset_seconds":0,"events":[
                    {"instruction":"fwt 0.0","activity":"wait","begin_seconds":0,"end_seconds":1,"bytes":0}]})",
                                "a.json");
              }),
              HasSubstr("a.json: instruction 'fwt 0.0'"));
  EXPECT_THAT(refusal_of<base::DataError>([&] {
                read_rank_trace(R"({"step":1,"lane":0,"world_rank":0,"host":"","clock_offset_seconds":0,"events":[
                    {"instruction":"norm","activity":"wait","begin_seconds":2,"end_seconds":1,"bytes":0}]})",
                                "a.json");
              }),
              HasSubstr("ends 1.000000000 s before it begins"));
}

TEST(Merge, AlignsClocksThatAreSecondsApart) {
  const StepTrace truth = simulated();
  const std::vector<double> skew = {0, 3.25, -1234.5};  // this rank's clock minus rank 0's
  std::vector<std::string> files;
  for (const std::size_t rank : {2U, 0U, 1U}) {  // any order
    RankTrace trace{truth.step, -skew[rank], truth.ranks[rank]};
    for (auto& event : trace.timeline.events) {
      event.begin_seconds += 1.7e9 + skew[rank];
      event.end_seconds += 1.7e9 + skew[rank];
    }
    files.push_back(write_rank_trace(trace));
  }
  expect_near(merge(files), truth, 1e-6);
}

TEST(Merge, RefusesNothingMixedStepsAndTwins) {
  const auto ranks = simulated().ranks;
  EXPECT_THAT(refusal_of<base::DataError>([&] { merge(std::vector<RankTrace>{}); }), HasSubstr("no rank trace"));
  EXPECT_THAT(refusal_of<base::DataError>([&] {
                merge(std::vector<RankTrace>{{1, 0, ranks[0]}, {2, 0, ranks[1]}});
              }),
              HasSubstr("rank 1 traced step 2, but rank 0 step 1"));
  EXPECT_THAT(refusal_of<base::DataError>([&] {
                merge(std::vector<RankTrace>{{1, 0, ranks[0]}, {1, 0, ranks[0]}});
              }),
              HasSubstr("rank 0 appears twice"));
}

TEST(Merge, KeepsTheLinkThatTheRanksMeasured) {
  const auto ranks = simulated().ranks;
  RankTrace first{1, 0, ranks[0]}, second{1, 0, ranks[1]};
  second.link = Link{0.0002, 1.1e7};
  const StepTrace merged = merge(std::vector<std::string>{write_rank_trace(first), write_rank_trace(second)});
  for (const StepTrace& step : {merged, read_chrome(write_chrome(merged), "x")}) {
    ASSERT_TRUE(step.link);
    EXPECT_EQ(step.link->latency_seconds, 0.0002);
    EXPECT_EQ(step.link->bytes_per_second, 1.1e7);
  }
  EXPECT_FALSE(read_chrome(write_chrome(simulated()), "x").link);
}

TEST(Chrome, ALinkThatCannotBeIsRefused) {
  StepTrace trace = simulated();
  trace.link = Link{0.1, 5};
  std::string text = write_chrome(trace);
  text.replace(text.find("\"bytes_per_second\":5"), 20, "\"bytes_per_second\":0");
  EXPECT_THAT(refusal_of<base::DataError>([&] { read_chrome(text, "a.json"); }), HasSubstr("a link of 0.1 s and 0"));
}

TEST(Chrome, RoundTripsToANanosecond) { expect_near(read_chrome(write_chrome(simulated()), "x"), simulated(), 1e-9); }

TEST(Chrome, WorldRanksOfOneGridRankStayApart) {
  StepTrace trace = simulated();
  trace.ranks[1].grid_rank = 0;
  expect_near(read_chrome(write_chrome(trace), "x"), trace, 1e-9);
}

TEST(Chrome, HasNamedRanksAndCompleteEventsThatDoNotOverlapOnARow) {
  const auto document = nlohmann::json::parse(write_chrome(simulated()));
  std::map<std::pair<int, int>, double> busy_until;
  int named = 0, complete = 0;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] == "M") named += event["name"] == "process_name" ? 1 : 0;
    if (event["ph"] != "X") continue;
    ++complete;
    double& until = busy_until[{event["pid"], event["tid"]}];
    EXPECT_GE(event["ts"].get<double>(), until - 1e-6);
    until = event["ts"].get<double>() + event["dur"].get<double>();
    EXPECT_TRUE(event["args"].contains("instruction"));
  }
  EXPECT_EQ(named, 3);
  EXPECT_GT(complete, 3 * 12);
}

TEST(Chrome, DamagedFilesAreRefusedByName) {
  EXPECT_THAT(refusal_of<base::DataError>([] { read_chrome("{}", "b.json"); }),
              HasSubstr("b.json: 'otherData' is missing"));
  EXPECT_THAT(refusal_of<base::DataError>([] {
                read_chrome(R"({"otherData":{"step":1,"lanes":[]},"traceEvents":[{"ph":"X","tid":64}]})", "b.json");
              }),
              HasSubstr("belongs to no rank"));
  EXPECT_THAT(refusal_of<base::DataError>([] {
                read_chrome(
                    R"({"otherData":{"step":1,"lanes":[{"lane":0,"world_rank":0,"host":""}]},"traceEvents":[{"ph":"X",
            "tid":0,"ts":5,"dur":-1,"cat":"wait","args":{"instruction":"norm","bytes":0}}]})",
                    "b.json");
              }),
              HasSubstr("before it begins"));
}

TEST(TraceNames, AreThoseOfTheFiles) {
  EXPECT_EQ(rank_trace_name(3, 12), "timeline_batch3_rank12.json");
  EXPECT_EQ(merged_trace_name(3), "timeline_batch3_all.json");
}

}  // namespace
}  // namespace troika::schedule
