#include "launch/starter.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "host/thread_limit.h"
#include "metrics/progress.h"

namespace troika::launch {

static constexpr double status_seconds = 5;
static constexpr records::Kept newest_only{64, 2, 64, 1 << 16};

ServiceManager::ServiceManager(std::string socket) : socket_(std::move(socket)) {
  const bool usable = !socket_.empty() && (socket_[0] == '/' || socket_[0] == '@');
  if (!usable || socket_.size() >= sizeof(sockaddr_un::sun_path)) socket_.clear();
}

void ServiceManager::tell(const std::string& assignments) const {
  if (!listens()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int sender = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (sender < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  [[maybe_unused]] const ssize_t sent =
      ::sendto(sender, assignments.data(), assignments.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&address), length);
  ::close(sender);
}

ServiceManager service_manager(const config::Environment& environment) {
  const auto socket = environment.find("NOTIFY_SOCKET");
  return ServiceManager(socket == environment.end() ? "" : socket->second);
}

std::string service_status(const records::RunReader& run) {
  if (!run.state()) return "";
  const records::RunState& state = *run.state();
  const bool steps = !run.steps().empty() && run.steps().back().step > state.first_step;
  if (state.life != records::Life::training || !steps) return std::string(word_of(state.life));
  const metrics::StepMetrics& last = run.steps().back();
  metrics::StepState now;
  now.step = last.step;
  now.total_steps = state.steps;
  now.loss = last.loss;
  now.tokens_per_second = last.tokens_per_second;
  now.eta_seconds = static_cast<double>(state.steps - last.step) * last.step_seconds;
  return format_line(progress_text(now));
}

ServiceStatus::ServiceStatus(const ServiceManager& manager, const std::string& folder)
    : manager_(manager), began_(base::wall_seconds()) {
  if (!manager.listens() || folder.empty()) return;
  run_ = std::make_unique<records::RunReader>(folder, newest_only);
  ticker_ = std::make_unique<rendezvous::Ticker>(status_seconds, [this] {
    tell();
    return true;
  });
}

void ServiceStatus::tell() {
  run_->refresh();
  if (!run_->state() || run_->state()->since < began_) return;
  const std::string status = service_status(*run_);
  if (status.empty() || status == told_) return;
  manager_.tell("STATUS=" + status);
  told_ = status;
}

constexpr std::size_t longest_order = 4096;

// Byte by byte: what is behind the line is for Orders.
std::string read_secret() {
  std::string line;
  for (char byte = 0; line.size() < longest_order;) {
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (byte == '\n') return line;
    line += byte;
  }
  throw base::ConfigError(base::say(
      "--orders-on-input is given, but standard input has no secret; to start a run on several hosts use --hosts"));
}

Orders::Orders(Speaker speaker)
    : speaker_(std::move(speaker)),
      done_(::eventfd(0, EFD_CLOEXEC)),
      thread_(host::start_thread([this] { listen(); })) {}

Orders::~Orders() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(done_, &one, sizeof one);
  thread_.join();
  ::close(done_);
}

void Orders::listen() {
  std::string line;
  for (;;) {
    pollfd polled[2] = {{STDIN_FILENO, POLLIN, 0}, {done_, POLLIN, 0}};
    const int ready = ::poll(polled, 2, static_cast<int>(1000 * order_patience_seconds));
    if (polled[1].revents != 0) return;
    if (ready < 0) continue;
    char byte = 0;
    const ssize_t count = ready == 0 ? 0 : ::read(STDIN_FILENO, &byte, 1);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) break;
    if (byte != '\n') {
      if (line.size() < longest_order) line += byte;
      continue;
    }
    if (line == "stop") ::kill(::getpid(), SIGTERM);
    if (line == "where") ::kill(::getpid(), SIGUSR1);
    line.clear();
  }
  speaker_.say(base::say("the terminal that started this launcher closed, so the run stops"));
  ::kill(::getpid(), SIGTERM);
}

}  // namespace troika::launch
