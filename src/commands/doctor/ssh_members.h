// Doctors on other hosts, started by the user's ssh, which carries their lines.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "commands/doctor/hosts_file.h"
#include "doctor/lines.h"

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

  std::size_t count() const override { return processes_.size(); }
  std::string name(std::size_t member) const override { return processes_[member].name; }
  void say(std::size_t member, const std::string& line) override;
  std::vector<Heard> hear(double seconds) override;

 private:
  struct Process {
    std::string name;
    int pid = -1, in = -1, out = -1, error = -1;  // it reads, writes, complains
    std::string unread, complaint;
  };
  void start(const MemberProcess& process, std::vector<char*>& environment);
  void read_lines(std::size_t member, std::vector<Heard>& heard);
  void read_complaint(Process& process);
  std::string end_of(Process& process);
  std::vector<Process> processes_;
};

// `ssh -o BatchMode=yes -o ConnectTimeout=5 [-p PORT] DESTINATION COMMAND`: `command` as one text for the shell there.
std::vector<std::string> ssh_words(const SshHost& host, const std::vector<std::string>& command);

}  // namespace troika::commands
