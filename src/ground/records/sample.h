// The status that a rank writes every few seconds, one JSON object a line in RUN/records/rank-00000.jsonl. Format:
// docs/formats/records.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/vitals.h"
#include "records/place.h"

namespace troika::records {

// Between this rank and another, since the attempt began.
struct PeerTraffic {
  int peer = 0;  // world rank
  std::int64_t sent_bytes = 0, received_bytes = 0;
  double waited_seconds = 0;  // this rank's, for messages from or to the peer
};

// How a rank uses the processor.
struct ThreadUse {
  int threads = 0;             // 0: not known
  int usable = 0, online = 0;  // cores: of the rank, of the host
  std::vector<int> bound_to;   // cores; empty: not bound
};

struct Sample {
  double time = 0;  // seconds since 1970, by the host's clock
  int rank = 0;
  std::string host;
  int attempt = 0;             // of its launch, from 0
  std::int64_t number = 0;     // of this rank in this attempt, from 1
  Place place;     // where the rank is, since when, and for whom it waits
  double pace_seconds = 0;     // of computing in a step, the median of the last half minute; 0: not known
  double elapsed_seconds = 0;  // since the attempt's first sample
  // Seconds since the attempt began. Phases: forward, backward, optimizer, load, save, evaluate, measure (before the first step);
  // waits: waiting, by the instruction in which ("recv_act", "fwd": the exchanges of tensor and context parallelism).
  std::map<std::string, double> phases, waits;
  std::vector<PeerTraffic> traffic;  // with whom there was any, by peer
  // By class: parameters, state, snapshot as held now, gradients and activations the most at once; of the process: resident.
  std::map<std::string, std::int64_t> memory;
  std::int64_t peak_resident_bytes = 0;  // of the process, the most so far; 0: the system does not tell
  ThreadUse threads;
  std::optional<host::Vitals> vitals;  // of the host, by its first rank
};

std::string to_json(const Sample& sample);                  // one line, without newline
std::optional<Sample> parse_sample(std::string_view line);  // nothing for a line that is none

}  // namespace troika::records
