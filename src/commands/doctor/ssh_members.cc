#include "commands/doctor/ssh_members.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/clock.h"

namespace troika::commands {
namespace {

constexpr std::size_t most_unread_of_member = std::size_t{4} << 20;
constexpr double member_end_seconds = 0.5;

// Why there are no more lines of it.
std::string end_of_member(launch::HostProcess& process) {
  const std::optional<int> code = process.end(member_end_seconds);
  process.read_complaints();
  if (const std::string complaint = process.complaint(); !complaint.empty()) return complaint;
  if (!code) return "its output ended";
  return *code > 128 ? fmt::format("signal {}", *code - 128) : fmt::format("exit code {}", *code);
}

}  // namespace

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
    if (member.unread.front() == '{') heard.push_back({number, member.unread.substr(0, end), false});
    member.unread.erase(0, end + 1);
  }
  if (member.unread.size() > most_unread_of_member) member.process.end_output();
  if (member.process.output() < 0) heard.push_back({number, end_of_member(member.process), true});
}

}  // namespace troika::commands
