#include "probe/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "bench/timing.h"
#include "config/choices.h"
#include "probe/least_squares.h"

namespace troika::probe {
namespace {

using config::Precision;
constexpr Precision all_precisions[] = {Precision::fp32, Precision::bf16, Precision::fp16};

// `inverse` 0: nothing says that this ever takes time; then far more than any kernel reached.
double rate_of(double inverse, double most_reached) { return inverse > 0 ? 1 / inverse : 100 * most_reached; }

void fit_products(const std::vector<TimedKernel>& kernels, const std::vector<double>& seconds, machine::Rates& rates) {
  std::vector<Precision> present;
  for (const Precision precision : all_precisions)
    if (std::any_of(kernels.begin(), kernels.end(), [&](const TimedKernel& kernel) {
          return kernel.kind == KernelKind::product && kernel.precision == precision;
        }))
      present.push_back(precision);
  if (present.empty()) throw base::BugError("there are no products to fit rates to");
  std::vector<Equation> equations;
  std::vector<double> most_flops(present.size(), 0), most_bytes(present.size(), 0);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].kind != KernelKind::product) continue;
    const auto of =
        static_cast<std::size_t>(std::find(present.begin(), present.end(), kernels[i].precision) - present.begin());
    Equation equation{std::vector<double>(1 + 2 * present.size(), 0), seconds[i]};
    equation.terms[0] = 1;
    equation.terms[1 + 2 * of] = kernels[i].work.flops;
    equation.terms[2 + 2 * of] = kernels[i].work.bytes;
    most_flops[of] = std::max(most_flops[of], kernels[i].work.flops / seconds[i]);
    most_bytes[of] = std::max(most_bytes[of], kernels[i].work.bytes / seconds[i]);
    equations.push_back(std::move(equation));
  }
  const std::vector<double> x = non_negative_least_squares(equations);
  rates.call_seconds = x[0];  // of the kernel alone
  for (std::size_t of = 0; of < present.size(); ++of)
    rates.products(present[of]) = {rate_of(x[1 + 2 * of], most_flops[of]), rate_of(x[2 + 2 * of], most_bytes[of])};
}

// Bytes of a step over its seconds without those of calls, at least a tenth of all.
double bytes_per_second(const std::vector<TimedKernel>& kernels, const std::vector<double>& seconds, KernelKind kind,
                        double call_seconds) {
  double bytes = 0, all = 0, calls = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].kind != kind) continue;
    bytes += kernels[i].calls * kernels[i].work.bytes;
    all += kernels[i].calls * seconds[i];
    calls += kernels[i].calls;
  }
  if (!(all > 0)) throw base::BugError("there are no kernels to fit a rate of bytes to");
  return bytes / std::max(all - calls * call_seconds, 0.1 * all);
}

double attention_share(const std::vector<TimedKernel>& kernels, const std::vector<double>& seconds,
                       const machine::Rates& rates) {
  double at_products = 0, taken = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].kind != KernelKind::attention) continue;
    const double multiplying = seconds[i] - rates.call_seconds - kernels[i].work.bytes / rates.between_bytes_per_second;
    at_products += kernels[i].calls * kernels[i].work.flops / rates.products(kernels[i].precision).flops_per_second;
    taken += kernels[i].calls * std::max(multiplying, 0.1 * seconds[i]);
  }
  if (!(taken > 0)) throw base::BugError("there is no attention to fit its share to");
  return at_products / taken;
}

// What one operation takes of passes that compute next to nothing.
double call_seconds(const std::vector<TimedKernel>& kernels, const std::vector<double>& seconds) {
  double all = 0, calls = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].kind != KernelKind::call) continue;
    all += seconds[i];
    calls += kernels[i].calls;
  }
  if (!(calls > 0)) throw base::BugError("there are no calls to time");
  return all / calls;
}

}  // namespace

machine::Rates fit_rates(const std::vector<TimedKernel>& kernels, const std::vector<double>& seconds) {
  machine::Rates rates;
  fit_products(kernels, seconds, rates);
  rates.between_bytes_per_second = bytes_per_second(kernels, seconds, KernelKind::between, rates.call_seconds);
  rates.stream_bytes_per_second = bytes_per_second(kernels, seconds, KernelKind::stream, rates.call_seconds);
  rates.attention_share = attention_share(kernels, seconds, rates);
  rates.call_seconds = call_seconds(kernels, seconds);
  return rates;
}

double predicted_seconds(const machine::Rates& rates, const TimedKernel& kernel) {
  const shape::Work& work = kernel.work;
  switch (kernel.kind) {
    case KernelKind::product:
      return rates.product_seconds(kernel.precision, work.flops, work.bytes);
    case KernelKind::attention:
      return rates.attention_seconds(kernel.precision, work.flops, work.bytes);
    case KernelKind::between:
      return rates.between_seconds(work.bytes);
    case KernelKind::call:
      return kernel.calls * rates.call_seconds;
    case KernelKind::stream:
      break;
  }
  return rates.stream_seconds(work.bytes);
}

FitErrors errors_of(const machine::Rates& rates, const std::vector<TimedKernel>& kernels,
                    const std::vector<double>& seconds, KernelKind kind) {
  FitErrors errors;
  std::vector<double> all;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].kind != kind) continue;
    all.push_back(std::abs(predicted_seconds(rates, kernels[i]) / seconds[i] - 1));
    if (all.back() < errors.largest) continue;
    errors.largest = all.back();
    errors.worst = fmt::format("{} {}", kernels[i].name, config::word_of(kernels[i].precision));
  }
  if (!all.empty()) errors.median = base::median(all);
  return errors;
}

}  // namespace troika::probe
