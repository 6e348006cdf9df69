// Computing that takes as long as the test says, on any machine: the real segments of the model, of which every block
// sleeps until its time is over.
#pragma once

#include <atomic>
#include <vector>

#include "schedule/simulate/simulator.h"
#include "train/thread_ranks_test_support.h"

namespace troika::train {

struct BlockSeconds {  // of one block; embedding and head take what they take
  double forward = 0, input = 0, weight = 0;
};

// Forwards of a block whose saved tensors are still held, of all ranks that share the counter.
struct Held {
  std::atomic<int> now{0}, most{0};
  void enter();
  void leave() { --now; }
};

// `held`: by layer, the counter of its block, or null. They must outlive the segments.
Trainer::SegmentMaker sleeping_segments(const config::Settings& settings, const BlockSeconds& seconds,
                                        const std::vector<Held*>& held = {});

// The same for the simulator. An exchange sends to each replica on a link of its own, as thread channels do.
schedule::CostModel sleeping_costs(const plan::Plan& plan, const BlockSeconds& seconds, const schedule::Link& link);

inline constexpr int first_recorded = 2, last_step = 4;  // of their runs

// The value of several steps that is compared: other work on the machine only adds to it.
double least(const std::vector<double>& values);

// The step's first begin to its last end.
double span_of(const schedule::StepTrace& trace);

// The recorded steps of a run, in order.
std::vector<schedule::StepTrace> timelines(const std::string& run_folder, int first, int last);

}  // namespace troika::train
