// Doctors of one launch, who meet at its store: one of each host says its lines there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "doctor/consultation.h"
#include "launch/host_process.h"
#include "rendezvous/store.h"

namespace troika::commands {

// A member's side. Threads: one.
class StoreLines : public doctor::Lines {
 public:
  // `node`: the number of this host in the launch. The client outlives this object.
  StoreLines(rendezvous::StoreClient& client, const rendezvous::Identity& identity, int node);
  void say(const std::string& line) override;
  std::optional<std::string> hear(double until) override;

 private:
  rendezvous::StoreClient& client_;
  const rendezvous::Identity identity_;
  const int node_;
  int said_ = 0, heard_ = 0;
};

// The other side, of the host with rank 0. Threads: one.
class StoreMembers : public doctor::Members {
 public:
  StoreMembers(rendezvous::StoreClient& client, const rendezvous::Identity& identity, int nodes);
  std::size_t count() const override { return told_.size(); }
  std::string name(std::size_t) const override { return ""; }
  void say(std::size_t member, const std::string& line) override;
  std::vector<Heard> hear(double seconds) override;

 private:
  rendezvous::StoreClient& client_;
  const rendezvous::Identity identity_;
  std::vector<int> told_;  // lines, by member
  std::uint64_t version_ = 0;
};

// Hosts of a launch that has so many ranks on each.
int hosts_of(const rendezvous::Identity& identity);

// The lines of a doctor that another one started, on its standard input and output.
class StandardLines : public doctor::Lines {
 public:
  StandardLines(int in, int out) : in_(in), out_(out) {}  // descriptors, which stay the caller's
  void say(const std::string& line) override;
  std::optional<std::string> hear(double until) override;

 private:
  const int in_, out_;
  std::string unread_;
};

// Doctors on other hosts, started by the user's ssh, which carries their lines.
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
