// Where a rank is: what it does, of which step, since when, and for whom it waits. It travels in heartbeats and samples, and
// is compared as a value; sentences about it are made where it is shown.
#pragma once

#include <cstdint>
#include <string>

#include "base/language.h"

namespace troika::records {

enum class Activity {
  nothing,      // it has not begun
  instruction,  // of the program
  // before the first step
  fitting_microbatch,
  preparing_data,
  agreeing,
  choosing_layout,
  measuring_segments,
  measuring_products,
  warming_device,
  connecting,
  measuring_link,
  opening_model,
  reading_weights,
  loading_weights,
  // between steps
  restoring,
  reporting,
  evaluating,
  saving,
  finishing_save,
};

bool is_saving(Activity activity);  // either of the two

struct Doing {
  Doing() = default;
  Doing(Activity of) : activity(of) {}  // NOLINT: an activity is all of it, but for an instruction
  static Doing instruction_of(std::string text);

  Activity activity = Activity::nothing;
  std::string instruction;  // its text, "fwd 3.2"; also a word that this version does not know
};
bool operator==(const Doing& a, const Doing& b);
inline bool operator!=(const Doing& a, const Doing& b) { return !(a == b); }

// The form in heartbeats and records: "fwd 3.2", "saving a checkpoint", "" of nothing.
std::string word_of(const Doing& doing);
Doing doing_of(const std::string& word);

// Whom a rank waits for, where it is no other rank by number.
inline constexpr int waits_for_nobody = -2;  // it works
inline constexpr int waits_for_others = -1;  // for one or several; it does not know which

// Seconds are by the rank's own clock.
struct Place {
  std::int64_t step = -1;            // -1: it has not begun one; 0: before the first
  Doing at{};
  double seconds = 0;                // it has been working at this, or waiting in it, without a pause
  double usual_seconds = 0;          // the median of the last times; 0: not known
  int waits_for = waits_for_nobody;  // or a world rank
};

// An instruction appears unchanged; an activity outside of the program is a word of the language.
std::string said(base::Language language, const Doing& doing);
// "step 41, fwd 3.2"; "preparing the data" before the first step.
base::Text said(const Place& place);
// "step 41, fwd 3.2 for 12 s (usually 0.2 s)".
base::Text said_with_seconds(const Place& place);
// " (usually 0.2 s)"; "" where that is not known.
base::Text usually(const Place& place);

}  // namespace troika::records
