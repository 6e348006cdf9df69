#include "serve/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace troika::serve {
namespace {

// The spread of the finite values among some.
struct Spread {
  float low = std::numeric_limits<float>::infinity(), high = -std::numeric_limits<float>::infinity();
  double sum = 0;
  std::int64_t count = 0;

  void add(const float* values, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const float value = values[i];
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
      sum += static_cast<double>(value);
      ++count;
    }
  }
};

class CurveMaker {
 public:
  CurveMaker(const Columns& columns, const CurveQuestion& question) : columns_(columns), question_(question) {}

  Curve make() {
    if (columns_.rows() == 0) return curve_;
    const double from = question_.from.value_or(columns_.x(question_.axis, 0));
    const double to = question_.to.value_or(columns_.x(question_.axis, columns_.rows() - 1));
    const std::int64_t first = columns_.first_from(question_.axis, from), end = behind(to);
    const std::int64_t points = std::max<std::int64_t>(question_.points, 1);
    curve_.exact = end - first <= points;
    if (curve_.exact) {
      for (std::int64_t row = first; row < end; ++row) add(row, row + 1);
      return curve_;
    }
    const double width = (to - from) / static_cast<double>(points);
    std::int64_t begin = first;
    for (std::int64_t column = 1; column <= points && begin < end; ++column) {
      const double edge = from + width * static_cast<double>(column);
      const std::int64_t next = column == points ? end : std::min(end, columns_.first_from(question_.axis, edge));
      if (next > begin) add(begin, next);
      begin = std::max(begin, next);
    }
    return curve_;
  }

 private:
  std::int64_t behind(double x) const {
    return columns_.first_from(question_.axis, std::nextafter(x, std::numeric_limits<double>::infinity()));
  }

  void add(std::int64_t begin, std::int64_t end) {
    Spread spread;
    columns_.each_block(begin, end, [&](const Columns::Block& block, std::size_t first, std::size_t last) {
      spread.add(block.of(question_.series).data() + first, last - first);
    });
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    const bool any = spread.count > 0;
    curve_.x.push_back(columns_.x(question_.axis, end - 1));
    curve_.low.push_back(any ? spread.low : none);
    curve_.high.push_back(any ? spread.high : none);
    curve_.mean.push_back(any ? static_cast<float>(spread.sum / static_cast<double>(spread.count)) : none);
  }

  const Columns& columns_;
  const CurveQuestion& question_;
  Curve curve_;
};

// As few digits as give the float back, which are nine at most.
void put_number(std::string& text, float value) {
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(text), "{}", value);
  else
    text += "null";
}

// Counts are whole, seconds are told to nine digits.
void put_x(std::string& text, Axis axis, double value) {
  if (axis == Axis::time)
    fmt::format_to(std::back_inserter(text), "{:.9g}", value);
  else
    fmt::format_to(std::back_inserter(text), "{:.0f}", value);
}

template <class Values, class Put>
void put_list(std::string& text, const char* key, const Values& values, const Put& put) {
  text += fmt::format("\"{}\":[", key);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    put(values[i]);
  }
  text += "],";
}

}  // namespace

Curve curve_of(const Columns& columns, const CurveQuestion& question) { return CurveMaker(columns, question).make(); }

std::string curve_json(const std::string& name, const Columns& columns, const CurveQuestion& question) {
  const Curve curve = curve_of(columns, question);
  std::string text = fmt::format(R"({{"name":{},"exact":{},)", nlohmann::json(name).dump(), curve.exact);
  text.reserve(text.size() + curve.x.size() * 48);
  const auto number = [&](float value) { put_number(text, value); };
  put_list(text, "x", curve.x, [&](double value) { put_x(text, question.axis, value); });
  put_list(text, "low", curve.low, number);
  put_list(text, "high", curve.high, number);
  put_list(text, "mean", curve.mean, number);
  const std::int64_t rows = columns.rows();
  for (const auto& [key, row] : {std::pair<const char*, std::int64_t>("from", 0), {"to", rows - 1}}) {
    text += fmt::format("\"{}\":", key);
    if (rows == 0)
      text += "null";
    else
      put_x(text, question.axis, columns.x(question.axis, row));
    text += ',';
  }
  return text + fmt::format("\"steps\":{}}}", rows);
}

}  // namespace troika::serve
