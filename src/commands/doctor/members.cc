#include "commands/doctor/members.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::commands {
namespace {

const std::string said_prefix = "doctor/said/";

std::string said_key(int node, int number) { return fmt::format("{}{:05}/{:05}", said_prefix, node, number); }
std::string told_key(int node, int number) { return fmt::format("doctor/told/{:05}/{:05}", node, number); }

constexpr std::size_t most_unread_of_member = std::size_t{4} << 20;
constexpr double member_end_seconds = 0.5;

// Why there are no more lines of it.
base::Text end_of_member(launch::HostProcess& process) {
  const std::optional<int> code = process.end(member_end_seconds);
  process.read_complaints();
  if (const std::string complaint = process.complaint(); !complaint.empty()) return base::verbatim(complaint);
  if (!code) return base::say("its output ended");
  return *code > 128 ? base::say("signal {}", *code - 128) : base::say("exit code {}", *code);
}

}  // namespace

StoreLines::StoreLines(rendezvous::StoreClient& client, const rendezvous::Identity& identity, int node)
    : client_(client), identity_(identity), node_(node) {}

void StoreLines::say(const std::string& line) { client_.set(key_of(identity_, said_key(node_, said_++)), line); }

std::optional<std::string> StoreLines::hear(double until) {
  std::string line;
  try {
    const double seconds = std::max(0.0, until - base::monotonic_seconds());
    if (!client_.get_within(key_of(identity_, told_key(node_, heard_)), seconds, &line)) return std::nullopt;
  } catch (const base::PeerError&) {  // the store has ended, and with it the one who listened
    return std::nullopt;
  }
  ++heard_;
  return line;
}

StoreMembers::StoreMembers(rendezvous::StoreClient& client, const rendezvous::Identity& identity, int nodes)
    : client_(client), identity_(identity), told_(static_cast<std::size_t>(nodes)) {}

void StoreMembers::say(std::size_t member, const std::string& line) {
  client_.set(key_of(identity_, told_key(static_cast<int>(member), told_[member]++)), line);
}

std::vector<doctor::Members::Heard> StoreMembers::hear(double seconds) {
  const double until = base::monotonic_seconds() + seconds;
  std::vector<Heard> heard;
  for (;;) {
    const rendezvous::StoreEntries news = client_.entries(key_of(identity_, said_prefix), version_);
    version_ = news.version;
    for (const auto& [key, line] : news.changed) {
      std::int64_t node = -1;
      if (base::parse_int(key.substr(0, key.find('/')), &node) && node >= 0 && node < static_cast<int>(told_.size()))
        heard.push_back({static_cast<std::size_t>(node), line});
    }
    if (!heard.empty() || base::monotonic_seconds() > until) return heard;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

int hosts_of(const rendezvous::Identity& identity) {
  return (identity.world_size + identity.local_size - 1) / identity.local_size;
}

void StandardLines::say(const std::string& line) {
  const std::string whole = line + "\n";
  for (std::size_t done = 0; done < whole.size();) {
    const ssize_t count = ::write(out_, whole.data() + done, whole.size() - done);
    if (count < 0 && errno != EINTR) return;
    done += static_cast<std::size_t>(std::max<ssize_t>(0, count));
  }
}

std::optional<std::string> StandardLines::hear(double until) {
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const double left = until - base::monotonic_seconds();
    pollfd polled{in_, POLLIN, 0};
    if (left <= 0 || (::poll(&polled, 1, static_cast<int>(1000 * left) + 1) < 0 && errno != EINTR)) return std::nullopt;
    if (polled.revents == 0) continue;
    std::array<char, 65536> bytes;
    const ssize_t count = ::read(in_, bytes.data(), bytes.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return std::nullopt;
    unread_.append(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  }
}

ProcessMembers::ProcessMembers(const std::vector<MemberProcess>& processes,
                               const std::map<std::string, std::string>& environment) {
  for (const MemberProcess& one : processes)
    members_.push_back({one.name, launch::HostProcess(one.words, environment, launch::HostProcess::Output::read)});
}

ProcessMembers::~ProcessMembers() {
  for (Member& member : members_) member.process.end_input();
  const double until = base::monotonic_seconds() + member_end_seconds;
  for (Member& member : members_)
    if (!member.process.end(std::max(0.0, until - base::monotonic_seconds()))) member.process.kill();
}

std::vector<doctor::Members::Heard> ProcessMembers::hear(double seconds) {
  std::vector<pollfd> polled;
  for (Member& member : members_) {
    polled.push_back({member.process.output(), POLLIN, 0});
    polled.push_back({member.process.complaints(), POLLIN, 0});
  }
  std::vector<Heard> heard;
  if (::poll(polled.data(), polled.size(), static_cast<int>(1000 * std::max(0.0, seconds)) + 1) <= 0) return heard;
  for (std::size_t member = 0; member < members_.size(); ++member) {
    if (polled[2 * member + 1].revents != 0) members_[member].process.read_complaints();
    if (polled[2 * member].revents != 0) read_lines(member, heard);
  }
  return heard;
}

// Lines that are no JSON are a shell's greeting.
void ProcessMembers::read_lines(std::size_t number, std::vector<Heard>& heard) {
  Member& member = members_[number];
  member.unread += member.process.read_output();
  for (auto end = member.unread.find('\n'); end != std::string::npos; end = member.unread.find('\n')) {
    if (member.unread.front() == '{') heard.push_back({number, member.unread.substr(0, end)});
    member.unread.erase(0, end + 1);
  }
  if (member.unread.size() > most_unread_of_member) member.process.end_output();
  if (member.process.output() < 0) heard.push_back({number, "", end_of_member(member.process)});
}

}  // namespace troika::commands
