// Doctors on other hosts, started by the user's ssh, which carries their lines.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "doctor/member.h"
#include "launch/host_process.h"

namespace troika::commands {

struct MemberProcess {
  std::string name;                // of the host, as the report calls it
  std::vector<std::string> words;  // words[0]: a path, or a name that PATH has
};

// Processes that speak lines on their standard input and output. All are started at once; when this object goes they are told by the
// end of their input, and those that have not ended soon after are killed. Threads: one.
class ProcessMembers : public doctor::Members {
 public:
  // ConfigError when one cannot be started.
  ProcessMembers(const std::vector<MemberProcess>& processes, const std::map<std::string, std::string>& environment);
  ~ProcessMembers() override;
  ProcessMembers(const ProcessMembers&) = delete;
  ProcessMembers& operator=(const ProcessMembers&) = delete;

  std::size_t count() const override { return members_.size(); }
  std::string name(std::size_t member) const override { return members_[member].name; }
  void say(std::size_t member, const std::string& line) override { members_[member].process.tell(line); }
  std::vector<Heard> hear(double seconds) override;

 private:
  struct Member {
    std::string name;
    launch::HostProcess process;
    std::string unread{};
  };
  void read_lines(std::size_t member, std::vector<Heard>& heard);
  std::vector<Member> members_;
};

}  // namespace troika::commands
