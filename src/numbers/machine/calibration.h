// Measured over predicted times of training runs on a machine: factors on predicted seconds.
#pragma once

#include <map>
#include <string>

#include "machine/cluster.h"

namespace troika::machine {

struct Calibration {
  struct Factor {
    double seconds = 1;  // taken / predicted
    int runs = 0;        // that it was learnt from
  };
  std::map<config::Precision, Factor> compute;  // by the precision of the runs
  Factor optimizer;                             // sums of squares and updates

  int runs() const;
};

// A run has taken so many times what was predicted with these factors. The first counts whole, later ones less and less, down
// to an eighth.
void learn(Calibration::Factor& factor, double taken_over_predicted);

// The rates of a host as its runs have shown them. A precision of no run has the factor of that with most.
Host calibrated(Host host, const Calibration& calibration);

// calibration.yaml beside a machine file; "" beside none.
std::string calibration_file(const std::string& machine_file);

// Empty where the file is not there or is of another machine file than the one that is there now: after a new probe
// it starts over.
// ConfigError when it is there and cannot be read.
Calibration read_calibration(const std::string& machine_file);
// Atomically. DataError when it cannot be written.
void write_calibration(const std::string& machine_file, const Calibration& calibration);

}  // namespace troika::machine
