#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "monitor/screen.h"
#include "monitor/text_line.h"
#include "monitor/texts.h"

namespace troika::monitor {
namespace {

Style style_of(Trouble trouble) {
  const bool bad = trouble == Trouble::run_silent || trouble == Trouble::silent_rank || trouble == Trouble::slow_rank ||
                   trouble == Trouble::circle || trouble == Trouble::memory_killed;
  return bad ? Style::bad : Style::warning;
}

void add_wrapped(const std::string& mark, const std::string& text, Style style, const Frame& frame, std::size_t most,
                 std::vector<TextLine>* lines) {
  std::string before = mark;
  for (const std::string& line : wrapped(text, frame.width > mark.size() ? frame.width - mark.size() : 1)) {
    if (lines->size() == most) return;
    lines->push_back(TextLine(before + line, style));
    before = std::string(mark.size(), ' ');
  }
}

std::string bytes_or_nothing(double bytes) {
  return bytes < 0 ? "" : base::format_bytes(static_cast<std::int64_t>(bytes));
}

std::string free_of(double available, double all) {
  if (available < 0) return "";
  return all > 0 ? fmt::format("{} / {}", bytes_or_nothing(available), bytes_or_nothing(all))
                 : bytes_or_nothing(available);
}

// "cpu 3 mem 0 io 1", in percent; nothing where the kernel does not tell.
std::string pressure_words(const host::Vitals& v) {
  if (v.pressure_cpu < 0 && v.pressure_memory < 0 && v.pressure_io < 0) return "";
  const auto known = [](double value) { return std::max(0.0, value); };
  return fmt::format("cpu {:.0f} mem {:.0f} io {:.0f}", known(v.pressure_cpu), known(v.pressure_memory),
                     known(v.pressure_io));
}

std::vector<Cell> row_of_host(const HostView& host) {
  const host::Vitals v = host.vitals.value_or(host::Vitals{});
  const auto known = [](double value, const char* format) {
    return value < 0 ? "" : fmt::format(fmt::runtime(format), value);
  };
  const auto counted = [](double count) { return Cell{count > 0 ? fmt::format("{:.0f}", count) : "", Style::warning}; };
  const bool short_of_memory = records::is_short_of_memory(v.available_bytes, v.memory_bytes);
  return {{base::printable(host.host, 100)},
          {std::to_string(host.ranks.size())},
          {known(v.cores, "{:g}")},
          {known(v.load, "{:.1f}"), v.cores > 0 && v.load > 1.5 * v.cores ? Style::warning : Style::plain},
          {v.clock_hertz <= 0 ? "" : fmt::format("{:.2f} GHz", v.clock_hertz / 1e9)},
          {known(v.temperature_celsius, "{:.0f} C"), v.temperature_celsius >= records::hot_celsius ? Style::warning : Style::plain},
          counted(host.throttles),
          {free_of(v.available_bytes, v.memory_bytes), short_of_memory ? Style::bad : Style::plain},
          {v.swap_bytes > 0 ? bytes_or_nothing(v.swap_bytes - std::max(0.0, v.swap_free_bytes)) : "",
           host.swaps() ? Style::bad : Style::plain},
          {pressure_words(v)},
          {bytes_or_nothing(v.disk_free_bytes)},
          counted(host.link_errors)};
}

}  // namespace

std::vector<TextLine> finding_section(const View& view, const Frame& frame, std::size_t most) {
  std::vector<TextLine> lines;
  if (is_over(view.condition) && view.state && !view.state->text.empty())
    add_wrapped("", said_end(frame.language, *view.state),
                view.condition == Condition::failed ? Style::bad : Style::plain, frame, most, &lines);
  for (const Finding& finding : view.findings)
    add_wrapped("! ", said(frame.language, finding), style_of(finding.trouble), frame, most, &lines);
  return lines;
}

std::vector<TextLine> host_section(const View& view, const Frame& frame, std::size_t most) {
  if (view.hosts.empty() || most < 2) return {};
  const auto title = [&](base::Phrase text) { return said(frame.language, text); };
  const auto column = [&](base::Phrase text, int weight) { return Table::Column{title(text), Table::Align::right, weight}; };
  Table table({{title(base::Phrase("host")), Table::Align::left, 100},
               column(base::Phrase("ranks"), 40),
               column(base::Phrase("cores"), 50),
               column(base::Phrase("load", "of a host"), 80),
               column(base::Phrase("clock"), 60),
               column(base::Phrase("temp"), 70),
               column(base::Phrase("throttled"), 95),
               column(base::Phrase("free memory"), 90),
               column(base::Phrase("swap used"), 55),
               column(base::Phrase("pressure"), 45),
               column(base::Phrase("free disk"), 65),
               column(base::Phrase("link errors"), 94)});
  const std::size_t rows = view.hosts.size() + 1 <= most ? view.hosts.size() : most - 2;
  for (std::size_t i = 0; i < rows; ++i) table.add_row(row_of_host(view.hosts[i]));
  std::vector<TextLine> lines = rows == 0 ? std::vector<TextLine>{} : table.lines(frame.width);
  if (rows < view.hosts.size())
    lines.emplace_back(said(frame.language, "{} more hosts", view.hosts.size() - rows), Style::dim);
  return lines;
}

std::vector<TextLine> link_section(const View& view, const Frame& frame, std::size_t most) {
  if (view.links.empty() || most < 1) return {};
  TextLine line(padded(said(frame.language, "links"), 7), Style::dim);
  for (const LinkView& link : view.links) {
    std::string words = fmt::format("  {} {} {} {}/s", link.from, arrow(frame.charset), link.to,
                                    byte_rate_words(link.bytes_per_second));
    if (link.waited_share >= 0.01)
      words += fmt::format(
          " ({})", said(frame.language, "waited {} %", fmt::format("{:.0f}", 100 * link.waited_share)));
    if (line.columns() + columns_of(words) > frame.width) break;
    line.add(words);
  }
  return {line};
}

std::vector<TextLine> event_section(const View& view, const Frame& frame, std::size_t most) {
  if (view.events.empty() || most < 2) return {};
  std::vector<TextLine> lines = {TextLine(said(frame.language, "events"), Style::dim)};
  const std::size_t shown = std::min(view.events.size(), most - 1);
  for (std::size_t i = view.events.size() - shown; i < view.events.size(); ++i) {
    const records::Event& event = view.events[i];
    using records::EventKind;
    const bool bad =
        event.kind == EventKind::rank_failed || event.kind == EventKind::rank_ended || event.kind == EventKind::failure;
    TextLine line(clock_words(event.time, frame.utc_offset_seconds) + "  ", Style::dim);
    line.add(padded(said(frame.language, event.kind), 15), bad ? Style::bad : Style::plain);
    const std::string text = base::printable(said_text(frame.language, event), 2000);
    line.add(text.substr(0, text.find('\n')));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace troika::monitor
