// A host as the checks see it: where its files are, and what only system calls tell, as values. Tests make both up.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "doctor/tree.h"
#include "host/vitals.h"

namespace troika::doctor {

// The NVIDIA GPUs of a host as a run would use them.
struct Gpus {
  struct Card {
    std::string name;  // "NVIDIA H100 80GB HBM3"
    int major = 0, minor = 0;
    std::int64_t free_bytes = 0;
    base::Text trouble;  // why it cannot be used; empty: it can
  };
  struct Library {
    std::string file, version;
    base::Text trouble;  // why a run cannot load it; empty: it can
  };
  std::vector<Card> cards;  // cuda:0 and on
  base::Text trouble;       // why there are none; empty: there are some
  Library driver, blas, cudnn, nccl;
};

// The demands of the run on a host. Zero and "": not known.
struct Want {
  enum class Hosts { one, several };
  Hosts hosts = Hosts::one;
  std::string folder;             // of the run, on this host
  std::string interface;          // comm.interface
  int port = 0;                   // where the ranks meet; looked at on the host that has the store
  int ranks = 1;                  // on this host
  int threads = 0;                // of each, as stated
  std::int64_t memory_bytes = 0;  // of all ranks on this host
  std::int64_t disk_bytes = 0;    // of the checkpoints that are kept here
};

// A negative number: no limit.
struct Limits {
  std::int64_t files_soft = -1, files_hard = -1, locked_bytes = -1, processes = -1;
};

struct ClockState {
  bool synchronised = false;
  double error_seconds = 0;  // at most, as the system reckons
};

enum class PortState { free, taken, forbidden, of_this_launch, not_asked };

struct Disk {
  std::string folder;  // the run's, or the nearest above it that is there
  bool writable = true;
  std::uint64_t type = 0;  // statfs: the magic number of its file system
  std::int64_t free_bytes = 0;
};

// Facts that take seconds to find out (measure.h).
struct Measured {
  host::Vitals before, loaded, after;                   // loaded: while all cores work
  std::map<std::string, std::int64_t> carrier_changes;  // by interface, meanwhile
  double sync_seconds = -1;      // the median of writing 4 KiB through to the disk; -1: it could not be written
  bool space_is_granted = true;  // as much as the run keeps; a quota may refuse what is free
  double memory_bytes_per_second = -1;
  std::optional<Gpus> gpus;  // nothing: there is no driver of GPUs
};

struct HostView {
  std::string proc = "/proc", sys = "/sys", etc = "/etc", dev = "/dev";
  std::map<std::string, std::string> environment;
  std::string name;  // what the host calls itself
  Want want;

  Limits limits;
  std::optional<ClockState> clock;
  std::vector<Interface> interfaces;
  PortState port = PortState::not_asked;
  base::Text port_holder;
  std::optional<Disk> disk;
  int cores = 1;         // that this process may use, without a quota
  std::string vcgencmd;  // what `vcgencmd get_throttled` said; "": it is not there
  // Addresses of a host's name; empty: there is none, nothing: not asked. May take as long as a name server does.
  std::function<std::optional<std::vector<std::string>>(const std::string& name)> resolve;
  std::function<Gpus()> open_gpus;  // asked where there is a driver of GPUs; null: never
  std::optional<Measured> measured;
};

// Takes no time but that of system calls. `port`: of_this_launch where the ranks have met at it; else it is tried when there is one.
HostView view_of_this_host(const Want& want, const std::map<std::string, std::string>& environment, PortState port);

// The least quota of the processor of all control groups that hold this process, of both versions, in cores; nothing without one.
std::optional<double> quota_cores(const HostView& view);

}  // namespace troika::doctor
