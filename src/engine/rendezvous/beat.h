// What a rank says of itself with every heartbeat: that it lives, where it is, and how fast it computes.
#pragma once

#include <cstdint>
#include <string>

#include "records/health.h"
#include "records/place.h"

namespace troika::rendezvous {

// A checkpoint that is written beside training. Seconds are by the rank's own clock.
struct Save {
  std::int64_t step = -1;    // of the checkpoint; -1: none is being written, or its writing waits for other ranks
  std::string folder;        // as this rank names it
  double seconds = 0;        // nothing has been written, nor has a wait for another rank ended
  double usual_seconds = 0;  // the median of the longest such time of the last saves; 0: not known
  bool awaited = false;      // the rank does nothing else meanwhile: its place tells
};

struct Heartbeat {
  std::int64_t count = 0;
  double limit_seconds = 10;    // silent for longer, the rank is taken for dead
  std::int64_t connection = 0;  // which one of this rank's it came over, from 1
  records::Place place{};
  double stand_limit_seconds = 1800;  // at one place for longer while others wait, the rank is taken for hung
  records::Pace pace{};
  Save save{};
};

std::string to_text(const Heartbeat& heartbeat);
Heartbeat parse_heartbeat(const std::string& text);  // malformed: the defaults' limits, and no place

}  // namespace troika::rendezvous
