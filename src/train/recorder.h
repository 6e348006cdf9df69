// Watches the executor: seconds per phase for every step, the events of recorded steps, and where the rank is for heartbeats.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "executor/observer.h"
#include "schedule/trace/trace.h"

namespace troika::train {

class Recorder final : public executor::Observer {
 public:
  // `at` is told every instruction before it runs; may be empty.
  explicit Recorder(std::function<void(std::int64_t step, const std::string& instruction)> at) : at_(std::move(at)) {}

  void keep_events() { keeping_ = true; }      // of the next step
  std::vector<schedule::Event> take_events();  // and stop keeping

  // Seconds since the start, by phase: compute kinds by name, "fwd exchange" and the like for what tensor- and
  // context-parallel peers exchange inside them, "wait" for all other standing still.
  const std::map<std::string, double>& phase_seconds() const { return phase_seconds_; }

  void begins(std::int64_t step, const schedule::Instruction& instruction) override;
  void waited(const schedule::Instruction& instruction, double begin, double end) override;
  void exchanged_inside(const schedule::Instruction& instruction, double begin, double end) override;
  void transferred(const schedule::Instruction& instruction, double begin, double end) override;
  void ended(const schedule::Instruction& instruction, double begin, double end) override;

 private:
  void add(const schedule::Instruction& instruction, schedule::Event::Activity activity, double begin, double end);

  const std::function<void(std::int64_t, const std::string&)> at_;
  bool keeping_ = false;
  std::vector<schedule::Event> events_;
  std::vector<std::pair<double, double>> waits_;  // inside the current instruction, ascending
  std::map<std::string, double> phase_seconds_;
};

}  // namespace troika::train
