// What SIGUSR1 means to a launcher and a rank. SIGUSR2 always asks to stop.
#pragma once

#include "rendezvous/slurm.h"

namespace troika::commands {

enum class FirstUserSignal {
  asks_where,  // where are you?
  asks_to_stop,  // save and stop, as SIGTERM: in a step of SLURM, whose jobs usually get it before their time limit (--signal=USR1@60)
};

// ConfigError as slurm_step.
inline FirstUserSignal first_user_signal(const rendezvous::Environment& environment) {
  return rendezvous::slurm_step(environment) ? FirstUserSignal::asks_to_stop : FirstUserSignal::asks_where;
}

}  // namespace troika::commands
