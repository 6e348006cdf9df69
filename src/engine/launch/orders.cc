#include "launch/orders.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "host/thread_limit.h"

namespace troika::launch {

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
      "--orders-on-input is given but no secret came on standard input; to start a run on several hosts use --hosts"));
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
  speaker_.say(base::say("the terminal that started this launcher is gone, so the run stops"));
  ::kill(::getpid(), SIGTERM);
}

}  // namespace troika::launch
