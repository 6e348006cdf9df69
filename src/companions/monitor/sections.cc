#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/say.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "base/units.h"
#include "monitor/screen.h"
#include "monitor/text_line.h"
#include "monitor/texts.h"

namespace troika::monitor {
namespace {

constexpr std::size_t label_columns = 12, value_columns = 11, beside_columns = 32, most_curve_columns = 64,
                      least_curve_columns = 8;

TextLine name_line(const View& view, const Frame& frame) {
  const std::string state = state_words(view, frame.language);
  const std::size_t for_name = frame.width > base::terminal_columns(state) + 2 ? frame.width - base::terminal_columns(state) - 2 : 0;
  std::string facts;
  if (view.state) {
    std::vector<std::string> known;
    const records::RunState& s = *view.state;
    for (const std::string& fact : {s.model_text().in(frame.language), s.layout_text().in(frame.language), s.schedule,
                                    s.precision, s.device})
      if (!fact.empty() && fact != "auto") known.push_back(base::printable(fact, 500));
    facts = base::join(known, frame.charset == Charset::utf8 ? " \u00b7 " : " | ");
  }
  const std::string name = shortened_to(base::printable(view.folder, 1000), for_name);
  TextLine line(name, Style::bold);
  if (const std::size_t left = for_name - base::terminal_columns(name); left > 4) line.add("  ").add(shortened_to(facts, left - 2));
  line.pad_to(frame.width - std::min(frame.width, base::terminal_columns(state)));
  return line.add(state, state_style(view));
}

TextLine progress_line(const View& view, const Frame& frame) {
  const Progress& p = view.progress;
  const Language language = frame.language;
  std::vector<std::string> words;
  if (p.steps > 0) {
    words.push_back(base::say("step {} of {}", p.step, p.steps).in(language));
    words.push_back(fmt::format("{:.1f} %", 100 * done_share(p)));
  } else {
    words.push_back(base::say("step {}", p.step).in(language));
  }
  if (p.tokens > 0) words.push_back(base::say("{} tokens", base::format_count(p.tokens)).in(language));
  if (std::isfinite(p.eta_seconds) && !is_over(view.condition))
    words.push_back(base::say("ETA {}", said_seconds(p.eta_seconds)).in(language));
  if (view.restarts > 0) words.push_back(base::say("attempt {}", view.restarts + 1).in(language));
  const std::string text = base::join(words, "  ");
  constexpr std::size_t longest_bar = 40, shortest_bar = 8;
  const std::size_t room = frame.width > base::terminal_columns(text) + 2 ? frame.width - base::terminal_columns(text) - 2 : 0;
  TextLine line;
  if (p.steps > 0 && room >= shortest_bar)
    line.add(progress_bar(done_share(p), std::min(room, longest_bar), frame.charset), Style::accent).add("  ");
  return line.add(text);
}

struct CurveRow {
  std::string label, value, beside;
  const Curve& curve;
  std::size_t rows;
  Style style = Style::accent;
};

void add_curve(const CurveRow& row, const Frame& frame, std::vector<TextLine>* lines) {
  const std::size_t room =
      frame.width > label_columns + value_columns ? frame.width - label_columns - value_columns : 0;
  const std::size_t for_curve = std::min(most_curve_columns, room > beside_columns ? room - beside_columns : room / 2);
  const std::size_t columns = for_curve < least_curve_columns ? 0 : for_curve;
  const std::vector<std::string> picture = sparkline(row.curve.points, columns, row.rows, frame.charset);
  const std::size_t height = std::max<std::size_t>(1, picture.size());
  for (std::size_t i = 0; i < height; ++i) {
    TextLine line;
    if (i == 0)
      line.add(padded(row.label, label_columns)).add(row.value, row.style == Style::bad ? Style::bad : Style::bold);
    line.pad_to(label_columns + value_columns);
    if (i < picture.size()) line.add(picture[i], row.style);
    if (i == 0 && !row.beside.empty()) line.pad_to(label_columns + value_columns + columns).add("  " + row.beside);
    lines->push_back(std::move(line));
  }
}

void add_curves(const View& view, const Frame& frame, std::size_t loss_rows, std::vector<TextLine>* lines) {
  const Progress& p = view.progress;
  const Language language = frame.language;
  const std::string valid =
      p.valid_step > 0 ? base::say("valid {} at step {}", loss_words(p.valid_loss), p.valid_step).in(language) : "";
  add_curve({base::say("loss").in(language), loss_words(p.loss), valid, p.loss_curve, loss_rows,
             std::isfinite(p.loss) ? Style::accent : Style::bad},
            frame, lines);
  std::string beside = base::say("lr {}", number_words(p.lr)).in(language);
  if (std::isfinite(p.loss_scale)) beside += "  " + base::say("loss scale {}", number_words(p.loss_scale)).in(language);
  add_curve({base::say("grad norm").in(language), std::isfinite(p.grad_norm) ? number_words(p.grad_norm) : "nan", beside,
             p.grad_norm_curve, 1},
            frame, lines);
  beside = std::isfinite(p.step_seconds) ? base::say("{} a step", said_seconds(p.step_seconds)).in(language) : "";
  if (p.skipped_steps > 0) beside += "  " + base::say("skipped {}", p.skipped_steps).in(language);
  if (p.repeated_steps > 0) beside += "  " + base::say("repeated {}", p.repeated_steps).in(language);
  add_curve(
      {base::say("tokens/s").in(language), rate_words(p.tokens_per_second), beside, p.tokens_per_second_curve, 1},
      frame, lines);
}

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

std::vector<TextLine> head_section(const View& view, const Frame& frame, std::size_t loss_rows) {
  std::vector<TextLine> lines = {name_line(view, frame)};
  if (view.condition == Condition::no_record) {
    lines.emplace_back(base::say("no run records in '{}' yet; waiting for the first", view.folder).in(frame.language), Style::dim);
    return lines;
  }
  lines.push_back(progress_line(view, frame));
  if (view.progress.loss_curve.last_step > 0) add_curves(view, frame, loss_rows, &lines);
  return lines;
}

std::vector<TextLine> finding_section(const View& view, const Frame& frame, std::size_t most) {
  std::vector<TextLine> lines;
  if (is_over(view.condition) && view.state && !view.state->text.empty())
    add_wrapped("", records::in_both(view.state->text, view.state->incident).in(frame.language),
                view.condition == Condition::failed ? Style::bad : Style::plain, frame, most, &lines);
  for (const Finding& finding : view.findings)
    add_wrapped("! ", said(frame.language, finding), style_of(finding.trouble), frame, most, &lines);
  return lines;
}

std::vector<TextLine> host_section(const View& view, const Frame& frame, std::size_t most) {
  if (view.hosts.empty() || most < 2) return {};
  const auto title = [&](base::Phrase text) { return std::string(text.in(frame.language)); };
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
    lines.emplace_back(base::say("{} more hosts", view.hosts.size() - rows).in(frame.language), Style::dim);
  return lines;
}

std::vector<TextLine> link_section(const View& view, const Frame& frame, std::size_t most) {
  if (view.links.empty() || most < 1) return {};
  TextLine line(padded(base::say("links").in(frame.language), 7), Style::dim);
  for (const LinkView& link : view.links) {
    std::string words = fmt::format("  {} {} {} {}/s", link.from, arrow(frame.charset), link.to,
                                    byte_rate_words(link.bytes_per_second));
    if (link.waited_share >= 0.01)
      words += fmt::format(
          " ({})", base::say("waited {} %", fmt::format("{:.0f}", 100 * link.waited_share)).in(frame.language));
    if (line.columns() + base::terminal_columns(words) > frame.width) break;
    line.add(words);
  }
  return {line};
}

std::vector<TextLine> event_section(const View& view, const Frame& frame, std::size_t most) {
  if (view.events.empty() || most < 2) return {};
  std::vector<TextLine> lines = {TextLine(base::say("events").in(frame.language), Style::dim)};
  const std::size_t shown = std::min(view.events.size(), most - 1);
  for (std::size_t i = view.events.size() - shown; i < view.events.size(); ++i) {
    const records::Event& event = view.events[i];
    using records::EventKind;
    const bool bad =
        event.kind == EventKind::rank_failed || event.kind == EventKind::rank_ended || event.kind == EventKind::failure;
    TextLine line(clock_words(event.time, frame.utc_offset_seconds) + "  ", Style::dim);
    line.add(padded(said(frame.language, event.kind), 15), bad ? Style::bad : Style::plain);
    const std::string text = base::printable(records::in_both(event.text, event.incident).in(frame.language), 2000);
    line.add(text.substr(0, text.find('\n')));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace troika::monitor
