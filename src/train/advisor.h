// Measures what advice.h reckons with, and says it before the first step and after the last. Changes no value of the run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "plan/advice.h"

namespace troika::train {

// One rank's. A world of one has nothing to choose and is told nothing.
class Advisor {
 public:
  Advisor(const plan::Plan& plan, comm::Channel& world, const c10::Device& device)
      : plan_(plan), world_(world), device_(device) {}

  // Collective. Measures the link and a matrix product; on rank 0 the lines to print, elsewhere none.
  std::vector<std::string> before_training();

  // The link as before_training() measured it, alike on all ranks; none in a world of one.
  std::optional<schedule::Link> link() const { return link_; }

  // `phase_seconds` since the start of the run, as Recorder has them.
  void step_done(double seconds, const std::map<std::string, double>& phase_seconds);

  // Collective. The same again with what the steps took; the first step is left out when there are more. Nothing when
  // there was no step.
  std::vector<std::string> after_training();

 private:
  std::vector<plan::RankSpeed> gather(const plan::RankSpeed& mine);
  plan::RankSpeed probe() const;

  const plan::Plan& plan_;
  comm::Channel& world_;
  const c10::Device device_;
  std::optional<schedule::Link> link_;
  std::int64_t steps_ = 0;  // counted in the two below
  double step_seconds_ = 0;
  std::map<std::string, double> phase_seconds_, first_phase_seconds_;
  bool first_is_past_ = false;
};

}  // namespace troika::train
