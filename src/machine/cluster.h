// The machines that a run is planned for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/rates.h"

namespace troika::machine {

// Hosts that are alike. A host with devices computes on them, a rank each; one without on its cores, which its ranks share.
struct Host {
  std::string name;
  int count = 1;
  std::string device;            // what computes, for people: "h100", "AMD EPYC"
  std::string source;            // what kind of numbers these are
  int devices = 0;               // accelerators; 0: ranks compute on the cores
  int cores = 1;                 // of one host
  std::int64_t memory_bytes = 0;   // for training: of one device, or of the host
  std::int64_t program_bytes = 0;  // what a process takes of it beside its tensors
  double disk_bytes_per_second = 0;  // of writing; 0: not known
  Rates rates;                   // of one device, or of one core while all cores compute
  Rates alone;                   // of one process that has all cores; with devices: as rates
  Link inside;                   // between two ranks of the host

  bool computes_on_cores() const { return devices == 0; }
};

struct PairLink {
  std::string from, to;  // names of hosts
  Link link;
};

struct Cluster {
  std::string name;
  std::vector<Host> hosts;
  Link network;                // of one host, each way: its ranks share it
  std::vector<PairLink> pairs;  // what was measured between two of them, in place of `network`

  int host_count() const;
  int device_count() const;  // of all hosts; of a host that computes on its cores: 1
};

// Which rank is where: host by host, in the order of the cluster.
class Placement {
 public:
  // `ranks_per_host` 0: one on each device, one on each host that computes on its cores. ConfigError when `world` ranks do
  // not fit: more than the devices; hosts with unequal numbers of devices are filled one after the other.
  Placement(const Cluster& cluster, int world, int ranks_per_host = 0);

  int world() const { return static_cast<int>(host_of_rank_.size()); }
  int host_of(int rank) const { return host_of_rank_[static_cast<std::size_t>(rank)]; }  // by number, of all hosts
  const Host& kind_of(int rank) const;
  int ranks_on(int host) const { return ranks_on_[static_cast<std::size_t>(host)]; }
  int hosts() const { return static_cast<int>(ranks_on_.size()); }  // that have ranks
  bool uniform() const;  // all ranks have equal rates, all hosts equally many, no pair of hosts is apart

  // Of one rank: its device's; or of as many cores as it has threads.
  Rates rates_of(int rank) const;
  int threads_of(int rank) const;
  std::int64_t memory_of(int rank) const;  // its share of the host's
  // Ranks of one host compute at once at these rates; what is beyond waits for cores.
  int at_once(int host) const;

  // Between two ranks, when no other rank sends.
  Link link(int from, int to) const;
  Link network_of(int host) const;  // the slowest to any other host with ranks

 private:
  struct Kind {
    int index = 0;
  };
  Cluster cluster_;
  std::vector<int> host_of_rank_, kind_of_host_, ranks_on_;
};

}  // namespace troika::machine
