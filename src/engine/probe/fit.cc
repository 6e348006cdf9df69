#include "probe/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/say.h"
#include "base/error.h"
#include "base/units.h"
#include "bench/measure.h"
#include "config/choices.h"

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
    rates.products(present[of]) = {rate_of(x[1 + 2 * of], most_flops[of]), rate_of(x[2 + 2 * of], most_bytes[of]), 1, 0};
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

// Of the precision's kernels; false where there are none.
bool fit_attention(const std::vector<TimedKernel>& kernels, const std::vector<double>& seconds, Precision precision, machine::Rates& rates) {
  std::vector<Equation> equations;
  double most_flops = 0, most_bytes = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].kind != KernelKind::attention || kernels[i].precision != precision) continue;
    const double without_call = std::max(seconds[i] - rates.call_seconds, 0.1 * seconds[i]);
    equations.push_back({{kernels[i].work.flops, kernels[i].work.bytes}, without_call});
    most_flops = std::max(most_flops, kernels[i].work.flops / without_call);
    most_bytes = std::max(most_bytes, kernels[i].work.bytes / without_call);
  }
  if (equations.empty()) return false;
  const std::vector<double> x = non_negative_least_squares(equations);
  machine::PrecisionRates& rate = rates.products(precision);
  rate.attention_share = rate_of(x[0], most_flops) / rate.flops_per_second;
  rate.attention_bytes_per_second = rate_of(x[1], most_bytes);
  return true;
}

// fp16 has no attention kernels of its own: that of bf16 where it is there.
void fit_attention(const std::vector<TimedKernel>& kernels, const std::vector<double>& seconds, machine::Rates& rates) {
  if (!fit_attention(kernels, seconds, Precision::fp32, rates)) throw base::BugError("there is no attention to fit rates to");
  const machine::PrecisionRates& like = fit_attention(kernels, seconds, Precision::bf16, rates) ? rates.bf16 : rates.fp32;
  rates.fp16.attention_share = like.attention_share;
  rates.fp16.attention_bytes_per_second = like.attention_bytes_per_second;
}

// The seconds of one operation, from passes that compute next to nothing.
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
  fit_attention(kernels, seconds, rates);
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
    errors.worst = base::say("{} {}", kernels[i].name, config::word_of(kernels[i].precision));
  }
  if (!all.empty()) errors.median = base::median(all);
  return errors;
}

namespace {

using SquareMatrix = std::vector<std::vector<double>>;

// Rows divided by their values, so that each shall become 1; columns by their largest entry, so that none is small beside
// another.
struct ScaledEquations {
  SquareMatrix rows;
  std::vector<double> column_scales;
};

ScaledEquations scaled(const std::vector<Equation>& equations) {
  const std::size_t unknowns = equations.empty() ? 0 : equations.front().terms.size();
  ScaledEquations s{{}, std::vector<double>(unknowns, 0)};
  for (const Equation& equation : equations) {
    if (equation.terms.size() != unknowns || !(equation.value > 0))
      throw base::BugError(fmt::format("an equation has {} terms and the value {}, the first has {} terms",
                                       equation.terms.size(), equation.value, unknowns));
    s.rows.push_back(equation.terms);
    for (std::size_t j = 0; j < unknowns; ++j) {
      s.rows.back()[j] /= equation.value;
      s.column_scales[j] = std::max(s.column_scales[j], std::abs(s.rows.back()[j]));
    }
  }
  for (auto& row : s.rows)
    for (std::size_t j = 0; j < unknowns; ++j) row[j] /= s.column_scales[j] > 0 ? s.column_scales[j] : 1;
  return s;
}

// a x = b by elimination with the largest pivot; false where a has no inverse.
bool solve(SquareMatrix a, std::vector<double> b, std::vector<double>* x) {
  const std::size_t n = b.size();
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < n; ++row)
      if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
    if (std::abs(a[pivot][column]) < 1e-12) return false;
    std::swap(a[pivot], a[column]);
    std::swap(b[pivot], b[column]);
    for (std::size_t row = column + 1; row < n; ++row) {
      const double factor = a[row][column] / a[column][column];
      for (std::size_t j = column; j < n; ++j) a[row][j] -= factor * a[column][j];
      b[row] -= factor * b[column];
    }
  }
  x->assign(n, 0);
  for (std::size_t row = n; row-- > 0;) {
    double rest = b[row];
    for (std::size_t j = row + 1; j < n; ++j) rest -= a[row][j] * (*x)[j];
    (*x)[row] = rest / a[row][row];
  }
  return true;
}

// The best with the unknowns of `set` alone, the others 0; false where that is not one, or one of them is negative.
bool best_of_set(const SquareMatrix& rows, unsigned set, std::vector<double>* all) {
  std::vector<std::size_t> members;
  for (std::size_t j = 0; j < all->size(); ++j)
    if ((set >> j & 1u) != 0) members.push_back(j);
  SquareMatrix normal(members.size(), std::vector<double>(members.size(), 0));
  std::vector<double> right(members.size(), 0), x;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      right[i] += row[members[i]];
      for (std::size_t j = 0; j < members.size(); ++j) normal[i][j] += row[members[i]] * row[members[j]];
    }
  }
  if (!solve(normal, right, &x)) return false;
  std::fill(all->begin(), all->end(), 0.0);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (x[i] < 0) return false;
    (*all)[members[i]] = x[i];
  }
  return true;
}

double squared_errors(const SquareMatrix& rows, const std::vector<double>& x) {
  double sum = 0;
  for (const auto& row : rows) {
    double error = -1;
    for (std::size_t j = 0; j < x.size(); ++j) error += row[j] * x[j];
    sum += error * error;
  }
  return sum;
}

}  // namespace

std::vector<double> non_negative_least_squares(const std::vector<Equation>& equations) {
  const ScaledEquations s = scaled(equations);
  const std::size_t unknowns = s.column_scales.size();
  if (unknowns > 12) throw base::BugError(fmt::format("{} unknowns are too many to try every set of them", unknowns));
  std::vector<double> best(unknowns, 0), x(unknowns, 0);
  double least = std::numeric_limits<double>::infinity();
  for (unsigned set = 0; set < 1u << unknowns; ++set) {
    if (!best_of_set(s.rows, set, &x)) continue;
    const double errors = squared_errors(s.rows, x);
    if (errors >= least) continue;
    least = errors;
    best = x;
  }
  for (std::size_t j = 0; j < unknowns; ++j) best[j] /= s.column_scales[j] > 0 ? s.column_scales[j] : 1;
  return best;
}

}  // namespace troika::probe
