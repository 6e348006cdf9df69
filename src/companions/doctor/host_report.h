// One host's report of itself: its findings, and facts that mean something only beside those of other hosts.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/host_view.h"

namespace troika::doctor {

struct HostFacts {
  std::vector<Interface> interfaces;               // that are up
  std::map<std::string, std::string> environment;  // of the variables that matter to a run, those that are set
  std::map<std::string, std::string> versions;     // "build", "kernel", "processor", "instructions"
  double memory_bytes_per_second = -1;             // -1: not measured
  std::string interface;                           // comm.interface, as stated
  std::string folder;                              // of the run
};

struct HostReport {
  std::string host;  // as the whole report calls it
  HostFacts facts;
  std::vector<Finding> findings;
};

// The facts of a view. `program`: the path of troika, whose build and neighbours are looked at.
HostFacts facts_of(const HostView& view, const std::string& program);

// Those of `environment` that matter to a run. Proxies may hold passwords: only that they are set.
std::map<std::string, std::string> watched_variables(const std::map<std::string, std::string>& environment);

// One host's measurements of the way to another.

// The facts that a doctor needs to measure the way to another one.
struct PeerDoctor {
  std::string host;                    // as the report calls it
  std::string own_name;                // as the host calls itself
  std::vector<std::string> addresses;  // the best first
  int tcp_port = 0, udp_port = 0;
  int named_port = 0;  // where the ranks will meet, if that is there; 0: none
};

struct Connecting {
  std::string address;
  int port = 0;
  int code = 0;  // errno; 0: it went well
};

struct PairReport {
  std::string from, to;             // as reports call the hosts
  Connecting connecting;            // to the doctor's own port
  std::optional<Connecting> named;  // to the port where the ranks will meet
  bool answered = false;
  std::string interface;                                         // by which it left; "": not known
  double round_trip_seconds = -1, late_round_trip_seconds = -1;  // the median; one in a hundred takes as long
  double clock_seconds = 0, clock_error_seconds = -1;            // the other's clock is ahead by; -1: not measured
  double there_bytes_per_second = -1, back_bytes_per_second = -1;
  // Small datagrams, then those of the size named: whether one of three came back. Nothing: not tried.
  std::optional<bool> small_datagrams, full_datagrams, jumbo_datagrams;
  std::int64_t full_bytes = 0, jumbo_bytes = 0;
  std::int64_t stuck_bytes = 0;  // a message over TCP of this size never arrived though shorter ones do; 0: none
  std::vector<std::string> addresses_of_name;  // what the host that measured takes the other's own name for
};

// The messages between doctors: a Want, HostReport, PeerDoctor or PairReport.
template <class Message>
nlohmann::json to_json(const Message& message);
template <class Message>
Message parse(const nlohmann::json& json);  // DataError

}  // namespace troika::doctor
