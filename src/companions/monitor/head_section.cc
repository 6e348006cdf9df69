#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "monitor/screen.h"
#include "monitor/texts.h"

namespace troika::monitor {
namespace {

constexpr std::size_t label_columns = 12, value_columns = 11, beside_columns = 32, most_curve_columns = 64,
                      least_curve_columns = 8;

TextLine name_line(const View& view, const Frame& frame) {
  const std::string state = state_words(view, frame.language);
  const std::size_t for_name = frame.width > columns_of(state) + 2 ? frame.width - columns_of(state) - 2 : 0;
  std::string facts;
  if (view.state) {
    std::vector<std::string> known;
    for (const std::string* fact :
         {&view.state->model, &view.state->layout, &view.state->schedule, &view.state->precision, &view.state->device})
      if (!fact->empty() && *fact != "auto") known.push_back(base::printable(*fact, 500));
    facts = base::join(known, frame.charset == Charset::utf8 ? " \u00b7 " : " | ");
  }
  const std::string name = shortened_to(base::printable(view.folder, 1000), for_name);
  TextLine line(name, Style::bold);
  if (const std::size_t left = for_name - columns_of(name); left > 4) line.add("  ").add(shortened_to(facts, left - 2));
  line.pad_to(frame.width - std::min(frame.width, columns_of(state)));
  return line.add(state, state_style(view));
}

TextLine progress_line(const View& view, const Frame& frame) {
  const Progress& p = view.progress;
  const Language language = frame.language;
  std::vector<std::string> words;
  if (p.steps > 0) {
    words.push_back(said(language, "step {} of {}", p.step, p.steps));
    words.push_back(fmt::format("{:.1f} %", 100 * done_share(p)));
  } else {
    words.push_back(said(language, "step {}", p.step));
  }
  if (p.tokens > 0) words.push_back(said(language, "{} tokens", base::format_count(p.tokens)));
  if (std::isfinite(p.eta_seconds) && !is_over(view.condition))
    words.push_back(said(language, "ETA {}", said_seconds(p.eta_seconds)));
  if (view.restarts > 0) words.push_back(said(language, "attempt {}", view.restarts + 1));
  const std::string text = base::join(words, "  ");
  constexpr std::size_t longest_bar = 40, shortest_bar = 8;
  const std::size_t room = frame.width > columns_of(text) + 2 ? frame.width - columns_of(text) - 2 : 0;
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
      p.valid_step > 0 ? said(language, "valid {} at step {}", loss_words(p.valid_loss), p.valid_step) : "";
  add_curve({said(language, "loss"), loss_words(p.loss), valid, p.loss_curve, loss_rows,
             std::isfinite(p.loss) ? Style::accent : Style::bad},
            frame, lines);
  std::string beside = said(language, "lr {}", number_words(p.lr));
  if (std::isfinite(p.loss_scale)) beside += "  " + said(language, "loss scale {}", number_words(p.loss_scale));
  add_curve({said(language, "grad norm"), std::isfinite(p.grad_norm) ? number_words(p.grad_norm) : "nan", beside,
             p.grad_norm_curve, 1},
            frame, lines);
  beside = std::isfinite(p.step_seconds) ? said(language, "{} a step", said_seconds(p.step_seconds)) : "";
  if (p.skipped_steps > 0) beside += "  " + said(language, "skipped {}", p.skipped_steps);
  if (p.repeated_steps > 0) beside += "  " + said(language, "repeated {}", p.repeated_steps);
  add_curve(
      {said(language, "tokens/s"), rate_words(p.tokens_per_second), beside, p.tokens_per_second_curve, 1},
      frame, lines);
}

}  // namespace

std::vector<TextLine> head_section(const View& view, const Frame& frame, std::size_t loss_rows) {
  std::vector<TextLine> lines = {name_line(view, frame)};
  if (view.condition == Condition::no_record) {
    lines.emplace_back(said(frame.language, "there is no record of a run in '{}' yet; waiting for one", view.folder), Style::dim);
    return lines;
  }
  lines.push_back(progress_line(view, frame));
  if (view.progress.loss_curve.last_step > 0) add_curves(view, frame, loss_rows, &lines);
  return lines;
}

}  // namespace troika::monitor
