// What an executor tells the outside while it runs: for the timeline, the guard and the log.
#pragma once

#include <cstdint>

#include "schedule/instruction.h"

namespace troika::executor {

// Called from the rank's thread, in program order; must be quick. Seconds are base::monotonic_seconds().
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begins(std::int64_t step, const schedule::Instruction& instruction) = 0;
  // The instruction stood still in [begin, end] for a transfer or for peers.
  virtual void waited(const schedule::Instruction& instruction, double begin, double end) = 0;
  // The same for the tensor- or context-parallel peers of a computation, which stand in it at the same time.
  virtual void exchanged_inside(const schedule::Instruction& instruction, double begin, double end) = 0;
  // A message of `instruction` was under way in [begin, end].
  virtual void transferred(const schedule::Instruction& instruction, double begin, double end) = 0;
  virtual void ended(const schedule::Instruction& instruction, double begin, double end) = 0;
};

}  // namespace troika::executor
