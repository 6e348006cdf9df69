#include "monitor/plain_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "monitor/texts.h"

namespace troika::monitor {

std::string progress_words(const View& view, base::Language language) {
  if (view.condition == Condition::no_record) return said(language, "there is no record of a run in '{}' yet; waiting for one", view.folder);
  const Progress& p = view.progress;
  std::vector<std::string> words = {state_words(view, language)};
  if (p.steps > 0) {
    words.push_back(said(language, "step {} of {}", p.step, p.steps));
    words.push_back(fmt::format("{:.1f} %", 100 * done_share(p)));
  } else {
    words.push_back(said(language, "step {}", p.step));
  }
  if (p.loss_curve.last_step > 0) {
    words.push_back(fmt::format("{} {}", said(language, "loss"), loss_words(p.loss)));
    if (p.valid_step > 0) words.push_back(said(language, "valid {} at step {}", loss_words(p.valid_loss), p.valid_step));
    words.push_back(fmt::format("{} {}", said(language, "grad norm"),
                                std::isfinite(p.grad_norm) ? number_words(p.grad_norm) : "nan"));
    words.push_back(said(language, "lr {}", number_words(p.lr)));
    words.push_back(fmt::format("{} {}", rate_words(p.tokens_per_second), said(language, "tokens/s")));
  }
  if (std::isfinite(p.eta_seconds) && !is_over(view.condition))
    words.push_back(said(language, "ETA {}", said_seconds(p.eta_seconds)));
  return base::join(words, "  ");
}

namespace {

bool same_event(const records::Event& a, const records::Event& b) {
  return a.time == b.time && a.kind == b.kind && a.rank == b.rank && a.text == b.text;
}

std::string identity_of(const Finding& finding) {
  return fmt::format("{} {} {} {}", static_cast<int>(finding.trouble), finding.rank, finding.host, finding.text);
}

std::string indented(const std::string& text) {
  std::string lines = base::printable(text, 16384);
  for (std::size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1))
    lines.insert(at + 1, "    ");
  return "  " + lines;
}

}  // namespace

std::vector<std::string> PlainLines::new_events(const View& view) {
  std::vector<std::string> lines;
  auto from = view.events.begin();
  if (last_event_) {
    const auto seen = std::find_if(view.events.rbegin(), view.events.rend(),
                                   [&](const records::Event& event) { return same_event(event, *last_event_); });
    if (seen != view.events.rend()) from = seen.base();
  } else if (!begun_) {
    from = view.events.end();  // what was before
  }
  for (; from != view.events.end(); ++from)
    lines.push_back(indented(fmt::format("{}  {}  {}", date_words(from->time, utc_offset_seconds_),
                                         said(language_, from->kind), said_text(language_, *from))));
  if (!view.events.empty()) last_event_ = view.events.back();
  return lines;
}

std::vector<std::string> PlainLines::new_findings(const View& view) {
  std::vector<std::string> lines;
  std::set<std::string> told;
  for (const Finding& finding : view.findings) {
    if (finding.trouble == Trouble::watch && begun_) continue;  // is an event
    told.insert(identity_of(finding));
    if (told_.count(identity_of(finding)) == 0) lines.push_back(indented("! " + said(language_, finding)));
  }
  told_ = std::move(told);
  return lines;
}

std::vector<std::string> PlainLines::next(const View& view) {
  std::vector<std::string> lines = {date_words(view.now, utc_offset_seconds_) + "  " + progress_words(view, language_)};
  for (std::string& line : new_events(view)) lines.push_back(std::move(line));
  for (std::string& line : new_findings(view)) lines.push_back(std::move(line));
  if (is_over(view.condition) && view.state && !view.state->text.empty())
    lines.push_back(indented(said_end(language_, *view.state)));
  begun_ = true;
  return lines;
}

}  // namespace troika::monitor
