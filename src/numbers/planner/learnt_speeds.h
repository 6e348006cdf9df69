// What instructions of another plan of the same training would take, from those of a recorded step.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "plan/plan.h"
#include "planner/recorded_seconds.h"

namespace troika::planner {

// Seconds of an amount of work.
struct LearntMean {
  double own = 0, inside = 0, amount = 0;

  void add(const Taken& taken, double of);
  void add(const LearntMean& other);
  Taken times(double of) const;
};

// A pass (forward, half of a backward) through segments that the rank had in one instruction takes the mean of those, by
// tokens. Through others it takes the rank's seconds per unit of plan::units_of, forwards and backwards apart. Sums and
// updates go by trained elements, tokens by tokens, the rest keeps its mean. A rank that was not there is the mean of all.
class LearntSpeeds {
 public:
  LearntSpeeds(const plan::Plan& recorded, const RecordedSeconds& seconds);

  // Of a rank of `changed`, whose ranks beyond the recorded ones are new. `costs`: plan::segment_costs(changed).
  Taken of(const plan::Plan& changed, const std::vector<double>& costs, int rank, const schedule::Instruction& i) const;

 private:
  enum class Direction { forward, backward };
  using Through = std::tuple<Direction, int, int>;  // first segment, end
  struct Rank {
    std::map<Through, LearntMean> passes;      // amount: tokens x whole forwards or backwards
    std::map<Direction, LearntMean> by_units;  // amount: units
    std::map<schedule::Kind, LearntMean> others;

    void add(const Rank& other);
  };

  struct Part {  // of a whole forward or backward
    Direction direction = Direction::forward;
    double part = 1;
  };

  static std::optional<Part> part_of(const plan::Plan& plan, schedule::Kind kind);  // none: it is no pass
  static double tokens_of(const plan::Plan& plan);
  static double amount_of(const plan::Plan& plan, const schedule::Instruction& i);
  void learn(const plan::Plan& plan, const std::vector<double>& costs, const schedule::Instruction& i,
             const Taken& taken, Rank* rank) const;

  std::vector<Rank> ranks_;
  Rank all_;
};

}  // namespace troika::planner
