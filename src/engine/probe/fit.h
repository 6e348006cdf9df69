// From seconds of kernels to the few numbers of machine::Rates.
#pragma once

#include <string>
#include <vector>

#include "machine/rates.h"
#include "probe/timed_kernel.h"

namespace troika::probe {

// Products: the kernel's call, 1 / flops and 1 / bytes of each precision by non-negative least squares of relative errors. What lies
// between them, and the sums: bytes over seconds of a step, beside the kernels' calls. Attention: the seconds that its bytes leave.
// call_seconds: of an operation in the passes of tiny blocks, which its kernel's call is a part of. `seconds` of
// each kernel, in their order. BugError when there is none of a kind.
machine::Rates fit_rates(const std::vector<TimedKernel>& kernels, const std::vector<double>& seconds);

// By the time model in machine/rates.h.
double predicted_seconds(const machine::Rates& rates, const TimedKernel& kernel);

// Errors of the predictions, without sign, relative to the measurements.
struct FitErrors {
  double median = 0, largest = 0;
  base::Text worst;  // the kernel
};
FitErrors errors_of(const machine::Rates& rates, const std::vector<TimedKernel>& kernels,
                    const std::vector<double>& seconds, KernelKind kind);

// Least squares with coefficients that are not negative.
// sum over j of terms[j] * x[j] shall be `value`; a row counts by the error in relation to its value, which is above 0.
struct Equation {
  std::vector<double> terms;
  double value = 0;
};

// The x >= 0 with the least sum of squared relative errors. Of every set of coefficients that are not 0 it looks at the best,
// so for a few unknowns only. BugError with more than 12, or when rows have different numbers of terms.
std::vector<double> non_negative_least_squares(const std::vector<Equation>& equations);

}  // namespace troika::probe
