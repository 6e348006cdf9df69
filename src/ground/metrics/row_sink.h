// Who else gets the rows of metrics.jsonl while a run trains.
#pragma once

#include <cstdint>

#include "base/language.h"
#include "metrics/step_metrics.h"

namespace troika::metrics {

// Calls neither wait nor throw: what cannot be written is dropped. Threads: one.
class RowSink {
 public:
  RowSink() = default;
  virtual ~RowSink() = default;  // without finish() the run has failed
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;

  // The row of `step` + 1 comes next: at the start, after a resume, and after the run has gone back.
  virtual void begin_after(std::int64_t step) = 0;
  // Returns what is to be told to the user, once: a sentence when something is dropped, else none.
  virtual base::Text append(const StepMetrics& row) = 0;
  virtual void finish() = 0;  // after the last row of a run that ends well
};

}  // namespace troika::metrics
