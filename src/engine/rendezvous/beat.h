// What a rank says of itself with every heartbeat: that it lives, where it is, and how fast it computes.
#pragma once

#include <cstdint>
#include <string>

namespace troika::rendezvous {

// Whom a rank waits for, where it is no other rank by number.
inline constexpr int waits_for_nobody = -2;  // it works
inline constexpr int waits_for_others = -1;  // for one or several; it does not know which

// Where a rank is. Seconds are by its own clock.
struct Place {
  std::int64_t step = -1;            // -1: it has not begun one; 0: before the first
  std::string instruction;           // "fwd 3.2", "saving a checkpoint"
  double seconds = 0;                // it has been working at this, or waiting in it, without a pause
  double usual_seconds = 0;          // the median of the last times; 0: not known
  int waits_for = waits_for_nobody;  // or a world rank
};

// How fast a rank computes: the median over its last half minute of training, or longer where steps are long.
struct Pace {
  double seconds = 0;  // of computing in a step, without waiting; 0: not known yet
  double work = 0;     // planned for it in a step, in any unit that all ranks share
  int like = 0;        // ranks with the same number, not below 0, do the same work
};

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
  Place place{};
  double stand_limit_seconds = 1800;  // at one place for longer while others wait, the rank is taken for hung
  Pace pace{};
  Save save{};
};

std::string to_text(const Heartbeat& heartbeat);
Heartbeat parse_heartbeat(const std::string& text);  // malformed: the defaults' limits, and no place

// "step 41, fwd 3.2"; "preparing the data" before the first step.
std::string place_text(const Place& place);
// "step 41, fwd 3.2 for 12 s (usually 0.2 s)".
std::string standing_text(const Place& place);
// " (usually 0.2 s)"; "" where that is not known.
std::string usual_text(const Place& place);

}  // namespace troika::rendezvous
