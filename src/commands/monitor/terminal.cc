#include "commands/monitor/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/clock.h"

namespace troika::commands {
namespace {

sigset_t heard_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP}) ::sigaddset(&set, signal);
  return set;
}

constexpr const char* take_screen =
    "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";  // alternate screen, no cursor, long lines are cut
constexpr const char* leave_screen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr char control_c = 3, control_z = 26;

}  // namespace

Terminal::Terminal(int in, int out) : in_(in), out_(out) {
  const sigset_t set = heard_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  has_keys_ = ::isatty(in_) != 0 && ::tcgetattr(in_, &keys_before_) == 0;
  take();
}

Terminal::~Terminal() {
  give_back();
  if (signals_ >= 0) ::close(signals_);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Terminal::take() {
  if (has_keys_) {
    termios keys = keys_before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    ::tcsetattr(in_, TCSANOW, &keys);
  }
  taken_ = true;
  write(take_screen);
}

void Terminal::give_back() {
  if (!taken_) return;
  write(leave_screen);
  if (has_keys_) ::tcsetattr(in_, TCSANOW, &keys_before_);
  taken_ = false;
}

void Terminal::write(const std::string& text) {
  for (std::size_t done = 0; done < text.size() && !gone_;) {
    const ssize_t count = ::write(out_, text.data() + done, text.size() - done);
    if (count > 0)
      done += static_cast<std::size_t>(count);
    else if (errno != EINTR && errno != EAGAIN)
      gone_ = true;
  }
}

Terminal::Size Terminal::size() const {
  winsize window{};
  if (::ioctl(out_, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {window.ws_col, window.ws_row};
}

void Terminal::draw(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  // Cleared before it is written: behind a full line the cursor is on its last character.
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "\x1b[2K" : "\r\n\x1b[2K") + lines[i] + "\x1b[0m";
  write(text);
}

void Terminal::stop_until_continued() {
  give_back();
  ::kill(::getpid(), SIGSTOP);  // SIGTSTP is blocked; the shell sees the same
  take();
}

Terminal::Event Terminal::heard(int signal) {
  if (signal == SIGWINCH) return Event::resized;
  if (signal != SIGTSTP) return Event::leave;
  stop_until_continued();
  return Event::resized;
}

Terminal::Event Terminal::key_pressed() {
  char key = 0;
  const ssize_t count = ::read(in_, &key, 1);
  if (count == 0) return Event::leave;  // the terminal hung up
  if (count < 0) return errno == EAGAIN || errno == EINTR ? Event::time_over : Event::leave;
  if (key == 'q' || key == 'Q' || key == control_c) return Event::leave;
  if (key != control_z) return Event::time_over;
  stop_until_continued();
  return Event::resized;
}

Terminal::Event Terminal::wait(double seconds) {
  const double end = base::monotonic_seconds() + seconds;
  while (!gone_) {
    const double left = end - base::monotonic_seconds();
    if (left <= 0) return Event::time_over;
    pollfd polled[2] = {{signals_, POLLIN, 0}, {has_keys_ ? in_ : -1, POLLIN, 0}};
    const int ready = ::poll(polled, 2, static_cast<int>(std::min(std::ceil(left * 1000), 1e9)));
    if (ready < 0 && errno != EINTR) return Event::leave;
    if (ready <= 0) continue;
    Event event = Event::time_over;
    if (polled[0].revents != 0) {
      signalfd_siginfo signal{};
      if (::read(signals_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal))
        event = heard(static_cast<int>(signal.ssi_signo));
    } else if (polled[1].revents != 0) {
      event = key_pressed();
    }
    if (event != Event::time_over) return event;
  }
  return Event::leave;
}

}  // namespace troika::commands
