// The state of a run, as numbers: computed from the contents of its folder and the current time. It knows no terminal and no
// language, so that screens, JSON and pages are made from it alike. Seconds "since 1970" are by the reader's clock.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "host/vitals.h"
#include "records/event.h"
#include "records/health.h"
#include "records/place.h"
#include "records/run_state.h"

namespace troika::monitor {

inline constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

enum class Condition {
  no_record,  // there is nothing of a run yet
  unknown,    // there are metrics, but nothing says what becomes of the run
  preparing,
  training,
  evaluating,
  saving,
  finished,
  failed,
  stopped
};
bool is_over(Condition condition);  // finished, failed or stopped

// Points of a series at equal distances from its first step to its last; NaN where nothing finite was.
struct Curve {
  std::vector<double> points;
  std::int64_t first_step = 0, last_step = 0;
};

struct Progress {
  std::int64_t step = 0, steps = 0;  // done, and of the whole run; steps 0: not known
  std::int64_t tokens = 0;           // loss tokens since the first step
  double eta_seconds = not_known;    // until the last step
  double loss = not_known, valid_loss = not_known, grad_norm = not_known, lr = not_known,
         loss_scale = not_known;                                   // of the last step
  std::int64_t valid_step = 0;                                     // the last that was evaluated; 0: none
  double tokens_per_second = not_known, step_seconds = not_known;  // means of the last steps
  std::int64_t skipped_steps = 0, repeated_steps = 0;              // since the first
  Curve loss_curve, valid_loss_curve, grad_norm_curve, tokens_per_second_curve;
};

enum class Standing {
  unheard,  // no sample of this attempt has come
  works,
  waits,
  silent,  // no sample has come for three intervals
  ended,   // the run is over
};

// Shares of the time of the last samples, 0 to 1. Waiting is apart from the phases in which it was.
struct Shares {
  bool known = false;
  double forward = 0, backward = 0, wait = 0, optimizer = 0, load = 0, save = 0;
  double other = 0;  // evaluation, measuring
};

struct RankView {
  int rank = 0;
  std::string host;
  int dp = 0, pp = 0, tp = 0, cp = 0;
  Standing standing = Standing::unheard;
  double silent_seconds = 0;  // above 0 where silent
  records::Place place;    // as last heard
  std::vector<int> chain;     // for whom it waits, for whom that one waits, and so on to the one that does not
  bool circle = false;        // the chain comes back to a rank that is in it
  int held = 0;               // ranks whose chains end with this one
  Shares shares;
  double pace_seconds = not_known;  // of computing in a step
  double slowness = not_known;      // its pace in paces of its like: the median of other ranks with the same work
  double like_seconds = not_known;  // that median
  bool slow = false;                // above records::slow_ratio, or the watch over the ranks says so
  std::map<std::string, std::int64_t> memory;                           // held now, by class; "resident" of the process
  double sent_per_second = not_known, received_per_second = not_known;  // bytes, to and from all ranks

  int holder() const { return chain.empty() || circle ? -1 : chain.back(); }  // -1: none, or not known
};

struct HostView {
  std::string host;
  std::vector<int> ranks;
  std::optional<host::Vitals> vitals;  // as last heard
  double window_seconds = 0;           // that the following are of
  double throttles = 0, quota_throttled_share = 0, swap_pages_per_second = 0, link_errors = 0, memory_kills = 0;

  bool swaps() const { return records::is_swapping(swap_pages_per_second * window_seconds); }
};

// Traffic between two ranks, one way.
struct LinkView {
  int from = 0, to = 0;
  double bytes_per_second = 0;
  double waited_share = 0;  // of the receiver's time, for messages from or to the sender
};

enum class Trouble {
  run_silent,     // value: seconds
  slow_rank,      // value: pace, reference: that of its like, both in seconds
  silent_rank,    // value: seconds
  circle,         // ranks wait for each other; text: which, value: seconds, host: of all of them
  watch,          // notice: what the watch over the ranks last told of someone
  throttled,      // value: times by heat
  hot,            // value: degrees Celsius
  quota,          // value: share of the time that the control group stood
  swapping,       // value: pages per second
  memory_low,     // value: bytes available, reference: bytes of the host
  memory_killed,  // value: processes
  disk_low,       // value: bytes free
  link_errors,    // value: how many
  under_voltage,
  skipped_steps,  // value: of the last 100 steps
};

struct Finding {
  Trouble trouble = Trouble::watch;
  int rank = -1;     // -1: of no single rank
  std::string host;  // "": of no single host
  double value = 0, reference = 0;
  std::string text{};
  std::optional<records::Incident> notice{};  // of the watch
};

struct View {
  std::string folder;
  double now = 0;  // since 1970
  Condition condition = Condition::no_record;
  double silent_seconds = 0;  // above 0 where no sample of any rank has come for three intervals
  std::optional<records::RunState> state;
  int restarts = 0;              // of the launch
  bool restart_follows = false;  // the attempt failed, and its launcher begins another
  Progress progress;
  std::vector<RankView> ranks;         // by rank
  std::vector<HostView> hosts;         // by their first rank
  std::vector<LinkView> links;         // most traffic first
  std::vector<records::Event> events;  // the last ones, in order
  std::vector<Finding> findings;       // the weightiest first
};

// A view as one JSON object, for scripts and pages. Format: docs/guides/monitoring.md.
std::string_view word_of(Condition condition);  // "no_record", "training"

// `indent` below 0: one line. Keys are English words; texts are in `language`. A number that is not known is null, or its key is
// left out where it belongs to one of several things.
std::string to_json(const View& view, base::Language language, int indent);

}  // namespace troika::monitor
