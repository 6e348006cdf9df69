// Watches the executor: seconds per phase for every step, the events of recorded steps, and where the rank is and how fast, for
// its heartbeat.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "executor/observer.h"
#include "schedule/trace/trace.h"
#include "train/whereabouts.h"

namespace troika::train {

class Recorder final : public executor::Observer {
 public:
  enum class Of { training, evaluation };  // the pace is that of training

  // `whereabouts` may be null and must outlive it.
  Recorder(Of of, Whereabouts* whereabouts) : of_(of), whereabouts_(whereabouts) {}

  void keep_events() { keeping_ = true; }      // of the next step
  std::vector<schedule::Event> take_events();  // and stop keeping

  // Seconds since the start, by phase: compute kinds by name, "fwd exchange" and the like for what tensor- and
  // context-parallel peers exchange inside them, "wait" for all other standing still.
  const std::map<std::string, double>& phase_seconds() const { return phase_seconds_; }

  void begins(std::int64_t step, const schedule::Instruction& instruction) override;
  void awaits_device() override;
  void waited(const schedule::Instruction& instruction, double begin, double end) override;
  void exchanged_inside(const schedule::Instruction& instruction, double begin, double end) override;
  void transferred(const schedule::Instruction& instruction, double begin, double end) override;
  void ended(const schedule::Instruction& instruction, double begin, double end) override;

 private:
  void add(const schedule::Instruction& instruction, schedule::Event::Activity activity, double begin, double end);

  const Of of_;
  Whereabouts* const whereabouts_;
  std::int64_t step_ = -1;
  double computed_in_step_ = 0;
  bool keeping_ = false;
  std::vector<schedule::Event> events_;
  std::vector<std::pair<double, double>> waits_;  // inside the current instruction, ascending
  std::map<std::string, double> phase_seconds_;
};

}  // namespace troika::train
