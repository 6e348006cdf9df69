// The numbers of `bench step`, and the ideal step they are compared with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "bench/measure.h"
#include "config/settings/settings.h"
#include "shape/layout.h"

namespace troika::bench {

// The minimum work of a step, whatever the program.
struct StepWork {
  double flops = 0;  // of matrix products and attention, forward and backward
  double update_bytes = 0;  // that the optimizer reads and writes
};
// `update_bytes`: of one trained parameter (shape::OptimizerShape).
// flops = 2 x (parameters but for tables that are only looked up) x tokens + 2 x heads x head_dim x seq_len^2 per layer and
// sequence (causal: half the square) forward; from the lowest segment with something to train on, as many products again for
// the gradients of inputs and twice the attention; and as many again of trained parameters, for their gradients.
StepWork work_of(const config::ModelSettings& model, const shape::Trained& trained, std::int64_t update_bytes,
                 std::int64_t sequences, std::int64_t seq_len);

// Seconds of that work at the machine's rates, one part after the other.
double ideal_seconds(const StepWork& work, const MachineRates& rates);

struct StepReport {
  std::string model;
  config::Precision precision = config::Precision::fp32;
  std::int64_t parameters = 0;
  int world = 1;
  std::int64_t threads = 1;                              // of each rank
  std::int64_t batch = 0, micro_batch = 0, seq_len = 0;  // sequences per step of all ranks, and of one forward
  std::vector<double> step_seconds;                      // in order; the first warms up
  double first_step_seconds = 0;                         // from the start of the process
  StepWork work;
  MachineRates rates;                                       // of all ranks together
  std::int64_t peak_resident_bytes = 0, planned_bytes = 0;  // of the rank with most
  std::int64_t program_resident_bytes = 0;                  // before anything of the model exists, of the rank with most

  // On a device: what it is, per step until the host has queued what it asks for and then until the device has done it, and what
  // its memory held at most (of the rank with most). Empty: the CPU.
  base::Text device;
  std::vector<double> queued_seconds, awaited_seconds;
  std::int64_t device_used_peak_bytes = 0, device_reserved_peak_bytes = 0;

  double median_seconds() const;  // without the first
  double tokens_per_second() const { return static_cast<double>(batch * seq_len) / median_seconds(); }
  double share_of_ideal() const { return ideal_seconds(work, rates) / median_seconds(); }
};

std::string to_json(const StepReport& report);  // one line with its end
std::string to_text(const StepReport& report, base::Language language);

// What `bench kernels` measured, as a table and as CSV.
struct MeasuredOperation {
  base::Text name;
  std::string shape;
  std::int64_t calls = 0;       // in one step
  double flops = 0, bytes = 0;  // of one call
  double seconds = 0;           // of one call
  double host_seconds = 0;      // on a device: until the host has queued the call

  // At the machine's rates: the longer of computing and moving.
  double ideal_seconds(const MachineRates& rates) const;
};

// With the sum of a step.
std::string to_table(const std::vector<MeasuredOperation>& rows, const MachineRates& rates, base::Language language);
std::string to_csv(const std::vector<MeasuredOperation>& rows, const MachineRates& rates);
// The table of a device: with the host's time and what each call moves and multiplies. `of` says whose rates they are.
std::string to_device_table(const std::vector<MeasuredOperation>& rows, const MachineRates& rates, const base::Text& of,
                            base::Language language);
std::string to_device_csv(const std::vector<MeasuredOperation>& rows, const MachineRates& rates);

}  // namespace troika::bench
