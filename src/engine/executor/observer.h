// The events that an executor reports while it runs: for the timeline, the heartbeat and the log.
#pragma once

#include <cstdint>

#include "schedule/instruction/program.h"

namespace troika::executor {

// Called from the rank's thread, in program order; must be quick. Seconds are base::monotonic_seconds(). What is not
// overridden is not heard.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begins(std::int64_t /*step*/, const schedule::Instruction& /*instruction*/) {}
  // The instruction that runs waits for its device from now on, and the device perhaps for messages of others.
  virtual void awaits_device() {}
  // The device has done all that it was asked for before awaits_device().
  virtual void device_is_done() {}
  // A wait begins here; waited() or exchanged_inside() reports it when it has ended.
  virtual void stands() {}
  // The instruction stood still in [begin, end] for a transfer or for peers.
  virtual void waited(const schedule::Instruction& /*instruction*/, double /*begin*/, double /*end*/) {}
  // The same for the tensor- or context-parallel peers of a computation, which wait in it at the same time.
  virtual void exchanged_inside(const schedule::Instruction& /*instruction*/, double /*begin*/, double /*end*/) {}
  // A message of `instruction` was under way in [begin, end].
  virtual void transferred(const schedule::Instruction& /*instruction*/, double /*begin*/, double /*end*/) {}
  virtual void ended(const schedule::Instruction& /*instruction*/, double /*begin*/, double /*end*/) {}
};

}  // namespace troika::executor
