#include "probe/least_squares.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"

namespace troika::probe {
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
