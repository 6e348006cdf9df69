// The machines that a run is planned for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/rates.h"

namespace troika::machine {

// Where the rates of a host are from.
struct Source {
  enum class Kind { stated, probe, same_hardware, data_sheets, published, profile, scaled_profile };
  Kind kind = Kind::stated;
  std::string words{};  // of `stated`: those of the file
};

// Equal hosts. A host with devices computes on them, one rank each; one without on its cores, which its ranks share.
struct Host {
  std::string name;
  int count = 1;
  std::string device;                   // what computes, for people: "h100", "AMD EPYC"
  Source source;
  int calibrating_runs = 0;             // that corrected the rates (calibration.h)
  int devices = 0;                      // accelerators; 0: ranks compute on the cores
  int cores = 1;                        // of one host
  std::int64_t memory_bytes = 0;        // for training: of one device, or of the host
  std::int64_t program_bytes = 0;       // what a process takes of it beside its tensors
  double disk_bytes_per_second = 0;     // of writing; 0: not known
  Rates rates;                          // of one device; or of one core while all of them compute
  double peak_fp32 = 0, peak_half = 0;  // flops/s of one device by its data sheet; 0: that of `alone`
  Rates alone;                          // of one process that has all cores; with devices: as rates
  Link inside;                          // between two ranks of the host

  bool computes_on_cores() const { return devices == 0; }
};

struct PairLink {
  std::string from, to;  // names of hosts
  Link link;
};

struct Cluster {
  std::string name;
  std::vector<Host> hosts;
  Link network;                 // of one host, each way: its ranks share it
  std::vector<PairLink> pairs;  // what was measured between two of them, in place of `network`; both ways

  int host_count() const;
  int device_count() const;  // of all hosts; a host that computes on its cores counts as one
};

// The host of each rank: host by host, in the order of the cluster.
class Placement {
 public:
  // `ranks_per_host` 0: one on each device, one on each host that computes on its cores. ConfigError when so many ranks have no
  // place.
  Placement(Cluster cluster, int world, int ranks_per_host = 0);

  int world() const { return static_cast<int>(host_of_rank_.size()); }
  int hosts() const { return static_cast<int>(ranks_on_.size()); }  // that have ranks
  int host_of(int rank) const { return host_of_rank_.at(static_cast<std::size_t>(rank)); }
  int ranks_on(int host) const { return ranks_on_.at(static_cast<std::size_t>(host)); }
  const Host& kind_of(int host) const { return cluster_.hosts.at(kind_of_host_.at(static_cast<std::size_t>(host))); }
  const Host& kind_of_rank(int rank) const { return kind_of(host_of(rank)); }
  const Cluster& cluster() const { return cluster_; }

  // Whether every rank has the same rates and every host as many ranks, and no two hosts a link of their own.
  bool uniform() const;

  Rates rates_of(int rank) const;  // of its device, or of as many cores as it has threads
  double peak_flops(
      config::Precision precision) const;  // of all ranks together; of hosts without devices: what they reach
  int threads_of(int rank) const;          // cores of the host over its ranks, at least 1; with a device: 1
  std::int64_t memory_of(int rank) const;  // its share of the host's, or its device's
  // How many ranks of a host compute at a time at these rates: all, or where ranks outnumber cores as many as there are cores.
  int at_once(int host) const;

  Link inside(int host) const { return kind_of(host).inside; }
  Link between(int host, int other) const;                   // what one host has for all its ranks together
  Link slowest_between(int first_host, int end_host) const;  // of any two of them

 private:
  Cluster cluster_;
  std::vector<std::size_t> kind_of_host_;
  std::vector<int> host_of_rank_, ranks_on_;
  std::vector<std::string> names_;  // of hosts: "pi", or "pi1", "pi2" of several
};

// A cluster as a file that people write and `troika probe` makes (docs/formats/cluster.md). ConfigError that names every line that is wrong, one each: an unknown key with the nearest, a number without its unit, a
// device that no profile has, no hosts. What a host leaves out comes from the profile that `device` names.
Cluster parse_cluster(const std::string& text, const std::string& origin);
Cluster read_cluster(const std::string& path);  // ConfigError also when there is no such file

// Parses back to an equal cluster, to four digits.
std::string to_yaml(const Cluster& cluster);

}  // namespace troika::machine
