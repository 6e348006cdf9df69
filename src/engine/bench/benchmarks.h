// `troika bench`: operations, steps and messages, timed. Command lines: the settings of train, and these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/config.h"

namespace troika::bench {

struct StepArguments {
  bool json = false;
  double seconds = 0.3;  // for each measured rate of the machine
  config::ParsedSettings parsed;
};

struct KernelsArguments {
  std::string csv;           // a file to write; empty: none
  double seconds = 0.2;      // for each operation
  std::string device_rates;  // a name of plan::device_rate_names; empty: measured
  config::ParsedSettings parsed;
};

struct CommArguments {
  std::string csv;                     // a file to write; empty: none
  double seconds = 0.2;                // for each row
  std::int64_t most_bytes = 64 << 20;  // of a message
  config::ParsedSettings parsed;
};

constexpr std::int64_t usual_bench_steps = 6;  // where no setting says
constexpr std::int64_t least_message_bytes = 1024;

config::FlagTable bench_step_flags(StepArguments& a);
config::FlagTable bench_kernels_flags(KernelsArguments& a);
config::FlagTable bench_comm_flags(CommArguments& a);

StepArguments parse_bench_step(const std::vector<std::string>& words, const config::Environment& environment);
KernelsArguments parse_bench_kernels(const std::vector<std::string>& words, const config::Environment& environment);
CommArguments parse_bench_comm(const std::vector<std::string>& words, const config::Environment& environment);

// Every operation of a training step, timed: on the CPU, or on a device by its own clock.
int run_bench_kernels(const std::vector<std::string>& words, const config::Environment& environment,
                      base::Language language);

// Some training steps on random tokens beside an ideal step of the same machine. Alone or as one rank of a launched run.
int run_bench_step(const std::vector<std::string>& words, const config::Environment& environment,
                   base::Language language);

// Latency and bandwidth between the ranks, by kind of message and size. One rank of a launched run of two or more: ConfigError
// alone; BugError when data arrive changed.
int run_bench_comm(const std::vector<std::string>& words, const config::Environment& environment,
                   base::Language language);

}  // namespace troika::bench
