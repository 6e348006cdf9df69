#include "launch/host_process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"

namespace troika::launch {
namespace {

constexpr std::size_t most_at_once = 65536, most_complaints = 2000;
constexpr double end_seconds = 0.5;

host::Subprocess started(std::vector<std::string> words, const std::map<std::string, std::string>& environment,
                         HostProcess::Output output) {
  host::Command command{std::move(words), environment};
  command.input = host::Stream::pipe();
  if (output == HostProcess::Output::read) command.output = command.errors = host::Stream::pipe();
  command.group = host::Command::Group::own;
  return host::Subprocess(command);
}

// As much as is there and fits; none, and the descriptor closed, at its end.
std::string read_there(base::Descriptor& from, std::size_t most_bytes) {
  std::string bytes(from ? most_bytes : 0, '\0');
  if (!from) return bytes;
  const ssize_t count = ::read(from.number(), bytes.data(), bytes.size());
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) from.close();
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  return bytes;
}

}  // namespace

HostProcess::HostProcess(std::vector<std::string> words, const std::map<std::string, std::string>& environment,
                         Output output)
    : process_(started(std::move(words), environment, output)) {
  for (const base::Descriptor* end : {&process_.input(), &process_.output(), &process_.errors()})
    if (*end) ::fcntl(end->number(), F_SETFL, O_NONBLOCK);
}

HostProcess::~HostProcess() {
  end_input();
  end_output();
  process_.errors().close();
  process_.ends_within(end_seconds);
}

void HostProcess::tell(const std::string& line) {
  if (!process_.input()) return;
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  const std::string whole = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(process_.input().number(), whole.data(), whole.size());
  ::sigaction(SIGPIPE, &before, nullptr);
}

void HostProcess::end_input() { process_.input().close(); }

void HostProcess::end_output() { process_.output().close(); }

std::string HostProcess::read_output() { return read_there(process_.output(), most_at_once); }

void HostProcess::read_complaints() {
  for (std::string more = read_there(process_.errors(), most_at_once); !more.empty();
       more = read_there(process_.errors(), most_at_once)) {
    complaints_ += more;
    if (complaints_.size() > most_complaints) complaints_.erase(0, complaints_.size() - most_complaints);
  }
}

std::string HostProcess::complaint() const {
  std::string last;
  for (const std::string& line : base::split(complaints_, '\n'))
    if (const std::string words = base::trim(line); !words.empty()) last = words;
  return base::printable(last, 300);
}

std::optional<int> HostProcess::end(double within_seconds) {
  if (!process_.ends_within(within_seconds)) return std::nullopt;
  return process_.wait().code();
}

void HostProcess::kill() {
  if (!end()) process_.send(SIGKILL);
}

}  // namespace troika::launch
