// The view of a run under way for other programs: Prometheus' page, TensorBoard's files, the user's command.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "commands/train/program_test_support.h"
#include "rendezvous/store.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// The whole answer; "" when nobody listens.
std::string scrape(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(socket);
  return answer;
}

// The first page that has all of them.
std::string await_page(int port, const std::vector<std::string>& parts) {
  const double until = base::monotonic_seconds() + patience_seconds;
  std::string page;
  for (;;) {
    page = scrape(port);
    std::string missing;
    for (const std::string& part : parts)
      if (page.find(part) == std::string::npos) missing = part;
    if (missing.empty()) return page;
    if (base::monotonic_seconds() > until) return ADD_FAILURE() << "'" << missing << "' did not come:\n" << page, page;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines = base::split(base::read_file(path), '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

TEST(Exporters, FollowARunThroughARestartToItsStop) {
  const Folder folder;
  const std::string out = folder / "run";
  const int port = free_port();
  Program program(
      troika({"launch", "--nproc-per-node", "2", "--max-restarts", "1", "--metrics-port", std::to_string(port), "--"}) +
      small_run(write_corpus(folder), out) +
      Words{"--dp", "2", "--steps", "1000000", "--checkpoint.every", "20", "--log.progress", "none",
            "--log.sample-seconds", "0.2", "--log.tensorboard", "on", "--on-event", "echo $TROIKA_EVENT"});
  await_step(out, 25);
  const std::string page = await_page(
      port, {"\ntroika_run_state{troika_run_state=\"training\"} 1\n",
             "troika_phase_seconds_total{rank=\"1\",phase=\"forward\"} ",
             "troika_link_bytes_total{rank=\"0\",peer=\"1\",direction=\"sent\"} ", "\ntroika_failed_saves_total 0\n"});
  EXPECT_THAT(page, AllOf(HasSubstr("HTTP/1.1 200 OK\r\n"), HasSubstr("\ntroika_target_steps 1000000\n"),
                          HasSubstr("\ntroika_restarts_total 0\n"), HasSubstr("\ntroika_loss "),
                          HasSubstr("\ntroika_step_seconds_count ")));
  ::kill(program.rank(1), SIGKILL);
  await_page(port, {"\ntroika_restarts_total 1\n", "\ntroika_run_state{troika_run_state=\"training\"} 1\n"});
  program.signal(SIGINT);
  const End end = program.wait();
  EXPECT_EQ(end.code, 130) << end.output;
  EXPECT_THAT(lines_of(out + "/logs/on-event.log"),
              UnorderedElementsAre("start", "failure", "restart", "start", "stop"));
  EXPECT_THAT(base::list_directory(out + "/tensorboard"), SizeIs(2));
  EXPECT_THAT(end.output, HasSubstr("metrics of the run are at http://127.0.0.1:" + std::to_string(port) + "/metrics"));
}

TEST(Exporters, AMetricsPortThatIsTakenIsSaidBeforeRanksStart) {
  const Folder folder;
  const rendezvous::StoreServer holder(0);
  const End end =
      run(troika({"launch", "--nproc-per-node", "2", "--metrics-port", std::to_string(holder.port()), "--"}) +
          small_run(write_corpus(folder), folder / "run"));
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.output, AllOf(HasSubstr("port " + std::to_string(holder.port()) + " is held by '"),
                                HasSubstr("choose another --metrics-port")));
  EXPECT_FALSE(base::file_exists(folder / "run/state.json"));
}

TEST(Exporters, ARunAloneTellsItsCommandItself) {
  const Folder folder;
  const std::string out = folder / "run";
  const End end = run(troika(small_run(write_corpus(folder), out)) +
                      Words{"--steps", "3", "--log.progress", "none", "--on-event", "echo $TROIKA_EVENT $TROIKA_STEP"});
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(lines_of(out + "/logs/on-event.log"), UnorderedElementsAre("start 0", "finish 3"));
}

}  // namespace
}  // namespace troika::commands
