#include "exporters/openmetrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <limits>

#include "base/temporary_folder_test_support.h"
#include "base/text.h"
#include "exporters/made_run_test_support.h"

namespace troika::exporters {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct MadeRun {
  explicit MadeRun(const std::string& name) : folder(base::temporary_folder() + "/" + name) { make_run(folder); }
  std::string render(double now = 1005) {
    run.refresh();
    seconds.follow(run);
    return openmetrics(run, seconds, {now, 1004.5}, TextFormat::open_metrics);
  }
  const std::string folder;
  records::RunReader run{folder};
  StepSeconds seconds;
};

TEST(OpenMetrics, TellsAllThatTheRunHasDataFor) {
  MadeRun made("whole");
  const std::string text = made.render(), written = TROIKA_BINARY_DIR "/openmetrics.txt";
  base::write_file_atomic(written, text);
  EXPECT_EQ(text, base::read_file(TROIKA_SOURCE_DIR "/src/ground/exporters/golden/openmetrics.txt"))
      << "is now in " << written;
}

TEST(OpenMetrics, OfAFolderWithoutARunIsTheProgramAlone) {
  records::RunReader run(base::temporary_folder() + "/absent");
  run.refresh();
  EXPECT_EQ(openmetrics(run, {}, {1, 0}, TextFormat::prometheus),
            "# TYPE troika_build_info gauge\n# HELP troika_build_info The program that says this.\n"
            "troika_build_info{version=\"0.1.0\"} 1\n");
}

TEST(OpenMetrics, EvaluatingAndSavingAreStates) {
  MadeRun made("places");
  EXPECT_THAT(made.render(), HasSubstr("troika_run_state{troika_run_state=\"training\"} 1\n"));
  records::Sample sample = made_sample(0, 1010);
  sample.number = 2;
  sample.place.at = records::doing_of("evaluating");
  add_sample(made.folder, sample);
  EXPECT_THAT(made.render(), AllOf(HasSubstr("troika_run_state{troika_run_state=\"evaluating\"} 1\n"),
                                   HasSubstr("troika_run_state{troika_run_state=\"training\"} 0\n")));
  sample.number = 3;
  sample.time = 1011;
  sample.place.at = records::doing_of("saving a checkpoint");
  add_sample(made.folder, sample);
  EXPECT_THAT(made.render(), HasSubstr("troika_run_state{troika_run_state=\"saving\"} 1\n"));
}

TEST(OpenMetrics, ARunThatHasEndedHasNoAges) {
  MadeRun made("ended");
  records::RunState state = made_state();
  state.life = records::Life::finished;
  records::write_run_state(made.folder, state);
  EXPECT_THAT(made.render(), AllOf(HasSubstr("{troika_run_state=\"finished\"} 1\n"), Not(HasSubstr("heartbeat_age"))));
}

TEST(OpenMetrics, EverySourceOfSeveralHasItsLossOfTheLastEvaluation) {
  MadeRun made("sources");
  metrics::StepMetrics evaluated = made_row(4, 1), later = made_row(5, 1);
  evaluated.extra = {
      {"valid_loss", 3}, {"valid_loss/a.jsonl", 2.5}, {"valid_loss/b \"c\"", 4}, {"valid_tokens/a.jsonl", 7}};
  add_row(made.folder, evaluated);
  add_row(made.folder, later);
  EXPECT_THAT(made.render(), AllOf(HasSubstr("\ntroika_valid_source_loss{source=\"a.jsonl\"} 2.5\n"
                                             "troika_valid_source_loss{source=\"b \\\"c\\\"\"} 4\n"),
                                   HasSubstr("\ntroika_valid_loss 3\n")));
}

TEST(OpenMetrics, ALossThatIsNoNumberIsNaN) {
  MadeRun made("nan");
  metrics::StepMetrics row = made_row(4, 1);
  row.loss = std::numeric_limits<double>::quiet_NaN();
  add_row(made.folder, row);
  EXPECT_THAT(made.render(), HasSubstr("\ntroika_loss NaN\n"));
}

TEST(OpenMetrics, OfSeveralRunsHaveTheirNamesInEverySample) {
  MadeRun first("first"), second("second");
  first.render();
  second.render();
  const std::string text =
      openmetrics({{"one", first.run, first.seconds, {1005, 0}}, {"two", second.run, second.seconds, {1005, 0}}},
                  TextFormat::open_metrics);
  EXPECT_THAT(text, AllOf(HasSubstr("\ntroika_step{run=\"one\"} 3\ntroika_step{run=\"two\"} 3\n"),
                          HasSubstr("troika_run_info{run=\"one\",model=\"qwen3-tiny: 4 layers\""),
                          HasSubstr("troika_build_info{version="), testing::EndsWith("# EOF\n")));
  std::size_t heads = 0;
  for (std::size_t at = text.find("# TYPE troika_loss gauge"); at != std::string::npos;
       at = text.find("# TYPE troika_loss gauge", at + 1))
    ++heads;
  EXPECT_EQ(heads, 1u);
}

TEST(StepSeconds, CountsEveryStepOnceAndThoseThatAreRepeatedAfterAResume) {
  MadeRun made("resumed");
  made.render();
  made.render();
  EXPECT_EQ(made.seconds.counts().front(), 1);
  EXPECT_DOUBLE_EQ(made.seconds.sum(), 1.004);
  metrics::MetricsFile(made.folder + "/metrics.jsonl").cut_after(2);
  made.render();
  add_row(made.folder, made_row(3, 4, 2000));
  made.render();
  EXPECT_EQ(made.seconds.counts().back(), 1);
  EXPECT_DOUBLE_EQ(made.seconds.sum(), 2001.004);
}

}  // namespace

namespace {
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ask(const MetricsServer& server, const std::string& request_line, const std::string& headers = "") {
  const std::vector<std::string> parts = base::split(server.url(), ':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(parts.at(2))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string request = request_line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers + "\r\n";
  EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(got));
  ::close(socket);
  return answer;
}

TEST(MetricsServer, ServesARunWhileItGrows) {
  const std::string folder = base::temporary_folder() + "/served";
  const MetricsServer server(folder, {});
  EXPECT_THAT(ask(server, "GET /metrics"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n"),
                    HasSubstr("troika_build_info{")));
  make_run(folder);
  EXPECT_THAT(ask(server, "GET /metrics"), HasSubstr("\ntroika_step 3\n"));
  add_row(folder, made_row(4, 4));
  EXPECT_THAT(ask(server, "GET /metrics", "Accept: application/openmetrics-text; version=1.0.0\r\n"),
              AllOf(HasSubstr("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"),
                    HasSubstr("\ntroika_step 4\n"), HasSubstr("troika_step_seconds_count 4\n"), EndsWith("# EOF\n")));
}

TEST(MetricsServer, HasOnePage) {
  const MetricsServer server(base::temporary_folder() + "/one-page", {});
  EXPECT_THAT(ask(server, "GET /"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(server, "GET /metrics/../../etc/passwd"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(server, "POST /metrics"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask(server, "GET /metrics?x=1"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(server.url(), ::testing::MatchesRegex("http://127.0.0.1:[0-9]+/metrics"));
}

}  // namespace

}  // namespace troika::exporters
