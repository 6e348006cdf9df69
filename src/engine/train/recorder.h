// Watches the executor: seconds per phase for every step, the events of recorded steps, and where the rank is and how fast, for
// its heartbeat.
//
// On a device that does what it is asked for later, seconds are the device's: at everything that the executor tells, a timed
// event is put into the compute lane, and they are read where the step waits for its device anyway. So what a step does behind
// its norm is known when the next one has come to its own. The place of the rank's thread, for the heartbeat, is known at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "executor/observer.h"
#include "schedule/trace/trace.h"
#include "tensor/streams.h"
#include "train/rank_activity.h"

namespace troika::train {

class Recorder final : public executor::Observer {
 public:
  enum class Of { training, evaluation };  // the pace is that of training

  // `rank_activity` may be null, `streams` too: then times are the host's. Both outlive it.
  Recorder(Of of, RankActivity* rank_activity, tensor::Streams* streams = nullptr);

  // Returns when the device has done all that it was asked for, and all of it is known. `check` as in tensor::await(). On the
  // host it does nothing.
  void await_device(const std::function<void()>& check);

  void keep_events() { keeping_ = true; }      // of the next step
  std::vector<schedule::Event> take_events();  // of what is known, and stop keeping

  // Seconds since the start, by kind of instruction: computing, and what tensor- and context-parallel peers exchange inside it.
  struct PhaseSeconds {
    std::array<double, schedule::kind_count> computed{}, exchanged{};
    double waited = 0;  // all other standing still
  };
  const PhaseSeconds& phase_seconds() const { return phase_seconds_; }

  void begins(std::int64_t step, const schedule::Instruction& instruction) override;
  void awaits_device() override;
  void device_is_done() override;
  void stands() override;
  void waited(const schedule::Instruction& instruction, double begin, double end) override;
  void exchanged_inside(const schedule::Instruction& instruction, double begin, double end) override;
  void transferred(const schedule::Instruction& instruction, double begin, double end) override;
  void ended(const schedule::Instruction& instruction, double begin, double end) override;

 private:
  // An event that the executor told of a device.
  struct Told {
    enum class What { begins, waited, exchanged_inside, transferred, ended };
    What what;
    schedule::Instruction instruction;
    tensor::Event from, at;  // when the compute lane stood still, if it did; when it came here
    bool kept;
  };
  void tell(Told::What what, const schedule::Instruction& instruction, tensor::Event from = {});
  void hear(const Told& told, const std::function<double(const tensor::Event&)>& seconds_of);
  void hear_waited(const schedule::Instruction& instruction, double begin, double end);
  void hear_exchanged(const schedule::Instruction& instruction, double begin, double end);
  double hear_ended(const schedule::Instruction& instruction, double begin, double end);
  tensor::Event mark() const { return streams_->record(tensor::compute_lane, tensor::Timed::yes); }
  RankActivity::During during() const;
  void add(const schedule::Instruction& instruction, schedule::Event::Activity activity, double begin, double end);

  const Of of_;
  RankActivity* const rank_activity_;
  std::int64_t step_ = -1;
  double computed_in_step_ = 0;
  tensor::Streams* const streams_;  // null: of the host
  bool keeping_ = false;
  std::vector<schedule::Event> events_;
  std::vector<std::pair<double, double>> waits_;  // inside the current instruction, ascending
  PhaseSeconds phase_seconds_;

  // On a device:
  std::vector<Told> told_;  // and not yet heard
  tensor::Event stood_;     // the last time that something stood still
  double host_waited_ = 0;  // of the rank's thread, in the current instruction
  bool hears_kept_ = false;
  double began_ = 0;  // the last instruction that was heard of, and each of those that are messages
  std::map<std::string, double> messages_began_;
};

// Writes what every rank did in a recorded step: each rank's file on its own host, the merged file on rank 0's host.
struct TimelinePlace {
  std::string folder;  // OUT/timeline on this host
  std::string host;
  int world_rank = 0;
  int grid_rank = 0;
  std::optional<schedule::Link> link;  // as measured before the steps
};

// Collective over `world`, after the step. Clocks are aligned with rank 0's. Returns the merged trace on rank 0, an empty one
// elsewhere.
schedule::StepTrace write_timeline(const TimelinePlace& place, std::int64_t step, std::vector<schedule::Event> events,
                                   comm::Channel& world);

}  // namespace troika::train
