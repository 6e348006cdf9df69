// A run that is looked at again and again: reads what was written since, and makes the view of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "monitor/step_history.h"
#include "monitor/view.h"
#include "records/run_reader.h"
#include "records/sample.h"

namespace troika::monitor {

// Everything a view is computed from.
struct Observed {
  const records::RunReader& run;
  const StepHistory& history;
  // When a rank's last sample came, since 1970, by the clock of `now`: hosts have clocks of their own. Where a rank has none, the
  // sample's own time counts.
  std::map<int, double> heard;
  double now = 0;
};

View view_of(const Observed& observed);

// As Observed::heard has it, by when the files of samples were written.
std::map<int, double> heard_in(const records::RunReader& run);

// Threads: one.
class RunWatch {
 public:
  explicit RunWatch(const std::string& folder);  // which need not be a run yet

  View look(double now);

 private:
  records::RunReader run_;
  StepHistory history_;
};

// The samples of a rank that tell of now.
struct SampleWindow {
  const records::Sample* last = nullptr;
  const records::Sample* first =
      nullptr;       // an earlier one of the same attempt, at most a minute; nullptr: there is none
  double heard = 0;  // when the last one came, since 1970

  // The growth of a counter that begins with the attempt; without a first sample, since then.
  template <class Count>
  auto difference(const Count& count) const {
    return first == nullptr ? count(*last) : count(*last) - count(*first);
  }
  double seconds() const { return first == nullptr ? 0 : last->elapsed_seconds - first->elapsed_seconds; }
};

// The windows of the attempt that state.json names, else of the newest. They point into `observed.run`.
std::map<int, SampleWindow> windows_of(const Observed& observed);

double sample_interval(const records::RunReader& run);  // seconds
// Whether no sample has come for three intervals.
bool is_silent(const SampleWindow& window, const Observed& observed);

// The parts of which view_of makes a view.

// How far the run has come. `view` has its condition and silence.
Progress progress_of(const Observed& observed, const std::map<int, SampleWindow>& windows, const View& view);

// The activity of each rank and the rank it waits for. By rank: those that state.json names, and those with samples.
std::vector<RankView> rank_views(const Observed& observed, const std::map<int, SampleWindow>& windows,
                                 Condition condition);

// Fills chain, circle and held from where the ranks are (standing, place). A rank that waits and does not know for whom waits for
// the only rank that does not wait, where there is one. Samples are of different moments, in which ranks that exchange messages wait for
// each other by turns: a circle counts where all in it have waited for `circle_seconds`; else nobody knows for whom they wait.
void follow_chains(std::vector<RankView>* ranks, double circle_seconds);

// Fills slowness, like_seconds and slow from pace and coordinates: ranks of one pipeline stage do the same work.
void compare_paces(std::vector<RankView>* ranks);

std::vector<HostView> host_views(const std::vector<RankView>& ranks, const std::map<int, SampleWindow>& windows);

// Those with traffic, the most first. What a sender counts is taken; of one whose samples are missing, what receivers count.
std::vector<LinkView> link_views(const std::map<int, SampleWindow>& windows);

// Findings that deserve a look. `view` has all but its findings; ranks that the watch reports as slow become so.
std::vector<Finding> findings_of(const Observed& observed, View* view);

}  // namespace troika::monitor
