#include "commands/sweep/page.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "commands/sweep/report.h"

namespace troika::commands {
namespace {

constexpr const char* page_head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>)";

constexpr const char* page_style = R"(</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 1400px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; } td, th { padding: .25em .7em; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child, th:first-child, td.reason { text-align: left; }
table.rows th { cursor: pointer; white-space: nowrap; } table.rows tr.best td { background: #eaf3fb; }
td.reason { color: #8a2b0f; } pre { background: #f5f5f5; padding: .7em; overflow-x: auto; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; }
</style>
</head>
<body>
)";

constexpr const char* page_script = R"(<script>
document.querySelectorAll("table.rows th").forEach(function (head, column) {
  head.addEventListener("click", function () {
    var body = document.querySelector("table.rows tbody"), down = head.dataset.down !== "1";
    var value = function (row) { var cell = row.cells[column]; return cell ? cell.dataset.value : undefined; };
    Array.from(body.rows).sort(function (a, b) {
      var x = value(a), y = value(b);
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      var order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
      return down ? order : -order;
    }).forEach(function (row) { body.appendChild(row); });
    head.dataset.down = down ? "1" : "0";
  });
});
</script>
</body>
</html>
)";

std::string cell(double value, const std::string& shown) {
  return fmt::format("<td data-value=\"{}\">{}</td>", value, html_text(shown));
}

std::string bytes_cell(std::int64_t bytes) {
  return bytes > 0 ? cell(static_cast<double>(bytes), base::format_bytes(bytes)) : "<td>-</td>";
}

std::string seconds_cell(double seconds) { return cell(seconds, base::format_duration(seconds)); }
std::string share_cell(double share) { return cell(share, fmt::format("{:.1f} %", 100 * share)); }

std::string html_cells(const SweepRow& row) {
  const std::string name = html_text(planner::name_of(row.layout));
  std::string text = fmt::format("<td data-value=\"{}\">{}</td>", name, name);
  if (!row.measured) {
    const auto word = config::word_of(row.status);
    return text + fmt::format("<td class=\"reason\" colspan=\"9\">{}: {}</td>", word, html_text(row.reason));
  }
  const SweepMeasured& m = *row.measured;
  text += cell(m.tokens_per_second, fmt::format("{:.0f}", m.tokens_per_second));
  text += cell(m.samples_per_second, fmt::format("{:.2f}", m.samples_per_second));
  text += seconds_cell(m.step_seconds) + seconds_cell(row.predicted.step_seconds);
  text += bytes_cell(m.memory_bytes) + bytes_cell(row.predicted.memory_bytes) + bytes_cell(m.resident_bytes);
  return text + share_cell(m.communication_share) + share_cell(m.bubble_share);
}

std::string table_of(const SweepRows& rows) {
  std::string text =
      "<div class=\"wide\"><table class=\"rows\">\n<thead><tr><th>layout</th><th>positions/s</th><th>samples/s</th>"
      "<th>step</th><th>predicted</th><th>memory</th><th>predicted</th><th>resident</th><th>communication</th>"
      "<th>bubble</th></tr></thead>\n<tbody>\n";
  const char* best = " class=\"best\"";
  for (const SweepRow& row : best_first(rows)) {
    text += fmt::format("<tr{}>{}</tr>\n", row.measured ? best : "", html_cells(row));
    best = "";
  }
  return text + "</tbody>\n</table></div>\n";
}

// From <svg on; what stands before is for files of its own.
std::string picture(const std::string& svg) {
  const std::size_t begin = svg.find("<svg");
  return begin == std::string::npos ? "" : "<div class=\"wide\">" + svg.substr(begin) + "</div>\n";
}

}  // namespace

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : base::printable(text, std::size_t{1} << 20)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string to_html(const SweepPage& page, const SweepRows& rows) {
  std::string text = page_head + html_text(page.title) + page_style;
  text += fmt::format("<h1>{}</h1>\n<p>{}</p>\n", html_text(page.title), html_text(page.conclusion));
  if (!page.command.empty()) text += fmt::format("<pre>{}</pre>\n", html_text(page.command));
  text += "<h2>Layouts</h2>\n" + table_of(rows);
  for (const std::string& svg : page.svgs) text += picture(svg);
  if (!page.note.empty()) text += fmt::format("<p>{}</p>\n", html_text(page.note));
  text += "<h2>Training and machine</h2>\n<table>\n";
  for (const auto& [name, value] : page.facts)
    text += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", html_text(name), html_text(value));
  text += fmt::format("</table>\n<h2>Settings</h2>\n<pre>{}</pre>\n", html_text(page.settings));
  return text + page_script;
}

}  // namespace troika::commands
