// Where a rank is in its run, since when, and how long that usually takes: written by its thread at every instruction, read by
// its heartbeat and on request.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "comm/wait_mark.h"
#include "rendezvous/heartbeat.h"
#include "schedule/instruction/program.h"

namespace troika::train {

// How long something usually takes: the median of its last times. Fixed size, no allocation.
class RecentSeconds {
 public:
  void add(double seconds) { seconds_[count_++ % seconds_.size()] = static_cast<float>(seconds); }
  std::size_t count() const { return count_; }  // since the start

  // 0 before there are `least` of them.
  double median(std::size_t least) const {
    const std::size_t known = std::min(count_, seconds_.size());
    if (known == 0 || known < least) return 0;
    std::array<float, 32> sorted = seconds_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(known / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(known));
    return static_cast<double>(*middle);
  }

 private:
  std::array<float, 32> seconds_{};
  std::size_t count_ = 0;
};

// How long a rank computes in a step, for comparing it with others that do the same: the median of 20 to 32 samples, each of at least one step and 1.5 s: of the last half minute, or longer where steps are long.
class PaceMeter {
 public:
  // A step begins; so much was computed in the one before it.
  void step_begins(double now, double computed_seconds) {
    if (began_ < 0) began_ = now;
    sample_seconds_ += computed_seconds;
    if (steps_ > 0 && now - began_ >= sample_least_seconds) {
      samples_.add(sample_seconds_ / static_cast<double>(steps_));
      sample_seconds_ = 0;
      steps_ = 0;
      began_ = now;
    }
    ++steps_;
  }

  double seconds() const { return samples_.median(least_samples); }  // 0: not known yet

 private:
  static constexpr double sample_least_seconds = 1.5;
  static constexpr std::size_t least_samples = 20;

  RecentSeconds samples_;
  double sample_seconds_ = 0, began_ = -1;
  std::int64_t steps_ = 0;
};

// Seconds are base::monotonic_seconds(). Threads: begins, ended, at and saves from the rank's, the rest from any. begins, ended
// and save_moves take a free lock and no memory.
class RankActivity {
 public:
  // Called when the rank reaches step 0 and when it reaches the first step, after it has; set before either.
  void on_arrival(std::function<void()> arrived) { arrived_ = std::move(arrived); }

  // The rank does something outside of the program.
  void at(std::int64_t step, records::Activity activity) { stand(step, activity, Saver::apart); }
  // The same, and it saves or waits for who saves beside it: for whom the saver waits, the rank does.
  void saves(std::int64_t step, records::Activity activity) { stand(step, activity, Saver::awaited); }

  // The events of the program.
  void begins(std::int64_t step, const schedule::Instruction& instruction, double now);
  void awaits_device();  // and until something begins cannot tell whether that waits for others
  enum class During { training, evaluation };
  void ended(const schedule::Instruction& instruction, double computed_seconds, double waited_seconds,
             During during = During::training);
  // The same of a device that is late, in two: at once, how long the rank's thread was at the instruction; later, how long the
  // device.
  void stood(const schedule::Instruction& instruction, double computed_seconds, double waited_seconds);
  void took(const schedule::Instruction& instruction, double computed_seconds, double waited_seconds, During during);

  // Events of a checkpoint that is written beside training, one at a time: it begins, into `folder`; a piece is written; it ends.
  void save_begins(std::int64_t step, const std::string& folder);
  void save_moves();
  void save_ended();

  // The events of training, for pace(): a step begins; so much was computed in the one before it.
  void step_begins(double now, double computed_seconds);
  // The work planned for this rank in a step, in a unit that all ranks share; ranks that are `like` it do the same.
  void planned(double work, int like);

  std::shared_ptr<comm::WaitMark> wait_mark() const { return wait_mark_; }    // of the rank's thread
  std::shared_ptr<comm::WaitMark> saver_mark() const { return saver_mark_; }  // of whoever saves

  // The time that each activity has taken since this object was made; what is under way is not in it.
  struct Totals {
    std::array<double, schedule::kind_count> computed{}, waited{};  // in training steps, by kind of instruction
    double evaluating = 0;                                          // in evaluations, waiting included
    std::map<records::Activity, double> outside;                    // of the program
  };
  Totals totals() const;

  records::Place place() const;
  records::Pace pace() const;
  rendezvous::Save save() const;

 private:
  enum class Saver { apart, awaited };

  void add_stood(const schedule::Instruction& instruction, double computed_seconds, double waited_seconds);
  void add_taken(const schedule::Instruction& instruction, double computed_seconds, double waited_seconds, During during);
  void stand(std::int64_t step, records::Activity activity, Saver saver);
  void leave_activity(double now);
  double save_stands_since(const comm::WaitMark::Reading& waits) const;
  void arrive(std::int64_t from, std::int64_t to) const;

  const std::shared_ptr<comm::WaitMark> wait_mark_ = std::make_shared<comm::WaitMark>(comm::WaitMark::Of::this_thread);
  const std::shared_ptr<comm::WaitMark> saver_mark_ = std::make_shared<comm::WaitMark>(comm::WaitMark::Of::any_thread);
  std::function<void()> arrived_;

  mutable std::mutex mutex_;  // guards what follows
  std::int64_t step_ = -1;
  double since_ = 0;
  bool in_program_ = false, awaits_device_ = false;
  Saver saver_ = Saver::apart;
  schedule::Instruction instruction_;  // in the program
  records::Activity activity_ = records::Activity::nothing;  // outside of it
  std::array<RecentSeconds, schedule::kind_count> computed_, waited_;
  std::map<records::Activity, RecentSeconds> activities_;
  Totals totals_;
  std::int64_t save_step_ = -1;  // -1: none
  std::string save_folder_;
  double save_since_ = 0, longest_stand_ = 0;  // of this save
  RecentSeconds longest_stands_;               // of the last ones
  PaceMeter pace_;
  double work_ = 0;
  int like_ = 0;
};

}  // namespace troika::train
