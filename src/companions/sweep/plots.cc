#include "sweep/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/units.h"

namespace troika::sweep {
namespace {

constexpr std::size_t most_rows = 40;
constexpr double left = 16, bar_width = 640, first_row = 64, row_height = 58;  // pixels

constexpr const char* style =
    "text{font:13px system-ui,sans-serif;fill:#222}.title{font-size:16px;font-weight:600}"
    ".words{font-size:12px;fill:#666}.measured{fill:#1f6fb2}.predicted{fill:#bbb}"
    ".compute{fill:#2f75b5}.communication{fill:#7d68ad}.bubble{fill:#c47a1b}";

// `words`: ours, with nothing to escape.
std::string words_at(const char* kind, double x, double y, const std::string& words) {
  return fmt::format("<text class=\"{}\" x=\"{:g}\" y=\"{:g}\">{}</text>\n", kind, x, y, words);
}

std::string bar_at(const char* kind, double x, double y, double width, double height) {
  return fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:g}\" width=\"{:.2f}\" height=\"{:g}\"/>\n", kind, x, y,
                     width, height);
}

using Kinds = std::vector<const char*>;
using DrawRow = std::function<std::string(const SweepRow& row, double y)>;  // its bars at y, and words under them

std::string picture(const std::string& title, const Kinds& kinds, const SweepRows& rows, const DrawRow& draw) {
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\">\n"
      "<style>{2}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      2 * left + bar_width, first_row + row_height * static_cast<double>(rows.size()), style);
  text += words_at("title", left, 26, title);
  double x = left;
  for (const char* kind : kinds) {
    text += bar_at(kind, x, 39, 17, 8) + words_at("words", x + 23, 47, kind);
    x += 140;
  }
  double y = first_row;
  for (const SweepRow& row : rows) {
    text += words_at("name", left, y + 13, planner::name_of(row.layout)) + draw(row, y + 19);
    y += row_height;
  }
  return text + "</svg>\n";
}

using ValueOf = std::function<double(const SweepRow&)>;
using Shown = std::string (*)(std::int64_t);

std::string comparison(const std::string& title, const SweepRows& rows, const ValueOf& measured,
                       const ValueOf& predicted, Shown shown) {
  double most = 1e-300;
  for (const SweepRow& row : rows) most = std::max({most, measured(row), predicted(row)});
  return picture(title, {"measured", "predicted"}, rows, [&](const SweepRow& row, double y) {
    const double is = measured(row), was = predicted(row);
    return bar_at("measured", left, y, bar_width * is / most, 9) +
           bar_at("predicted", left, y + 10, bar_width * was / most, 5) +
           words_at("words", left, y + 28,
                    fmt::format("measured {}, predicted {}", shown(static_cast<std::int64_t>(is)),
                                shown(static_cast<std::int64_t>(was))));
  });
}

std::string shares_of_a_step(const SweepRow& row, double y) {
  const double communication = row.measured->communication_share, bubble = row.measured->bubble_share;
  const std::pair<const char*, double> parts[] = {{"compute", std::max(0.0, 1 - communication - bubble)},
                                                  {"communication", communication},
                                                  {"bubble", bubble}};
  std::string bars, words;
  double x = left;
  for (const auto& [kind, share] : parts) {
    bars += bar_at(kind, x, y, bar_width * share, 14);
    words += fmt::format("{}{} {:.1f} %", words.empty() ? "" : ", ", kind, 100 * share);
    x += bar_width * share;
  }
  return bars + words_at("words", left, y + 28, words);
}

SweepRows fastest_measured(const SweepRows& rows) {
  SweepRows ordered = best_first(rows);
  const auto end = std::find_if(ordered.begin(), ordered.end(), [](const SweepRow& row) { return !row.measured; });
  ordered.erase(end, ordered.end());
  if (ordered.size() > most_rows) ordered.resize(most_rows);
  return ordered;
}

}  // namespace

std::map<std::string, std::string> sweep_plots(const SweepRows& rows, const SweepStep& step) {
  const SweepRows shown = fastest_measured(rows);
  if (shown.empty()) return {};
  const auto predicted_speed = [&](const SweepRow& row) {
    const double seconds = row.predicted.step_seconds;
    return seconds > 0 ? static_cast<double>(step.tokens) / seconds : 0;
  };
  return {{"throughput",
           comparison("Positions per second", shown,
                      [](const SweepRow& row) { return row.measured->tokens_per_second; }, predicted_speed,
                      base::format_count)},
          {"memory", comparison("Memory of the rank that holds most", shown,
                                [](const SweepRow& row) { return static_cast<double>(row.measured->memory_bytes); },
                                [](const SweepRow& row) { return static_cast<double>(row.predicted.memory_bytes); },
                                base::format_bytes)},
          {"shares", picture("Where the time of a step goes", {"compute", "communication", "bubble"}, shown,
                             shares_of_a_step)}};
}

}  // namespace troika::sweep
