// Which kills a soak makes: spread evenly over layouts, targets, signals and phases, the same for the same seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troika::soak {

struct Layout {
  std::string name;
  int hosts = 2, ranks_per_host = 1;
  std::vector<std::string> words;  // settings of the training
  // Where training waits for its checkpoints, a kill loses at most the steps between two of them; where they are written beside it,
  // those since the newest complete one, which may be the one before.
  bool waits_for_saves = false;
  int world() const { return hosts * ranks_per_host; }
};

const std::vector<Layout>& layouts();

enum class Target { worker, launcher, leader };  // a rank; the launcher of a host other than 0; that of host 0
enum class Phase { join, load, step, save, evaluation };
std::string to_text(Target target);
std::string to_text(Phase phase);
std::string name_of_signal(int signal);

struct Kill {
  std::int64_t number = 0;
  Layout layout;
  Target target = Target::worker;
  int signal = 0;  // SIGKILL, SIGTERM or SIGSTOP
  Phase phase = Phase::join;
  int rank = 0;       // the worker, or the first one of the launcher's host
  double chance = 0;  // in [0, 1): where in the phase
  int host() const { return rank / layout.ranks_per_host; }
};

// `layouts` take turns; not empty.
std::vector<Kill> choose_kills(std::int64_t count, std::uint64_t seed, const std::vector<Layout>& layouts);

}  // namespace troika::soak
