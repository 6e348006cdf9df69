#include "exporters/metrics_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/temporary_folder_test_support.h"
#include "base/text.h"
#include "exporters/made_run_test_support.h"

namespace troika::exporters {
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
