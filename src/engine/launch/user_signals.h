// What SIGUSR1 means to a launcher and a rank. SIGUSR2 always asks to stop.
#pragma once

#include "host/signals.h"
#include "rendezvous/slurm.h"

namespace troika::launch {

// ConfigError as slurm_step.
inline host::FirstUserSignal first_user_signal(const rendezvous::Environment& environment) {
  return rendezvous::slurm_step(environment) ? host::FirstUserSignal::asks_to_stop : host::FirstUserSignal::asks_where;
}

}  // namespace troika::launch
