#include "monitor/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/say.h"
#include "base/text.h"
#include "monitor/texts.h"

namespace troika::monitor {
namespace {

struct Budget {
  std::size_t loss_rows = 3, findings = 24, ranks = 34, hosts = 18, links = 1, events = 11;
  std::size_t blank = 1;  // lines between the parts
};

std::size_t lines_of(std::size_t rows) { return rows == 0 ? 0 : rows + 1; }  // with the titles

// Divides a screen of `height` lines, `head` of which are taken. Ranks get the rest; where they need more, lines are taken first
// from the events, then from links and hosts.
Budget budget_of(const View& view, std::size_t height, std::size_t head) {
  Budget b;
  std::size_t left = height > head ? height - head : 0;
  const auto take = [&](std::size_t wanted) {
    const std::size_t taken = std::min(left, wanted);
    left -= taken;
    return taken;
  };
  b.blank = height >= 30 ? 1 : 0;
  left -= std::min(left, 4 * b.blank);
  b.findings = take(std::min<std::size_t>(view.findings.size() * 2 + (view.state && !view.state->text.empty() ? 4 : 0),
                                          std::max<std::size_t>(2, height / 4)));
  const std::size_t least_ranks = take(lines_of(std::min<std::size_t>(view.ranks.size(), 4)));
  const std::size_t least_hosts = take(lines_of(std::min<std::size_t>(view.hosts.size(), 2)));
  const std::size_t least_events = take(lines_of(std::min<std::size_t>(view.events.size(), 3)));
  b.links = take(view.links.empty() ? 0 : 1);
  b.ranks = least_ranks + take(lines_of(view.ranks.size()) - least_ranks);
  b.hosts = least_hosts + take(lines_of(view.hosts.size()) - least_hosts);
  b.events = least_events + take(lines_of(view.events.size()) - least_events);
  return b;
}

void add_part(std::vector<TextLine> part, std::size_t blank, std::vector<TextLine>* lines) {
  if (part.empty()) return;
  lines->insert(lines->end(), blank, TextLine());
  lines->insert(lines->end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
}

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

std::vector<TextLine> screen_of(const View& view, const Frame& frame) {
  constexpr std::size_t tall = 36;
  const std::size_t loss_rows = frame.height == 0 || frame.height >= tall ? 3 : 1;
  std::vector<TextLine> lines = head_section(view, frame, loss_rows);
  const std::size_t height = frame.height > 1 ? frame.height - 1 : frame.height;  // the last line says how to leave
  const Budget budget = frame.height == 0 ? Budget{} : budget_of(view, height, lines.size());
  add_part(finding_section(view, frame, budget.findings), budget.blank, &lines);
  add_part(rank_section(view, frame, budget.ranks), budget.blank, &lines);
  add_part(host_section(view, frame, budget.hosts), budget.blank, &lines);
  add_part(link_section(view, frame, budget.links), 0, &lines);
  add_part(event_section(view, frame, budget.events), budget.blank, &lines);
  if (frame.height == 0) return lines;
  lines.resize(height);
  if (frame.height > 1) lines.emplace_back(base::say("q quits").in(frame.language), Style::dim);
  return lines;
}

std::string plain_text(const std::vector<TextLine>& lines, std::size_t width) {
  std::string text;
  for (const TextLine& line : lines) text += line.plain(width) + "\n";
  return text;
}

std::string progress_words(const View& view, base::Language language) {
  if (view.condition == Condition::no_record) return base::say("no run records in '{}' yet; waiting for the first", view.folder).in(language);
  const Progress& p = view.progress;
  std::vector<std::string> words = {state_words(view, language)};
  if (p.steps > 0) {
    words.push_back(base::say("step {} of {}", p.step, p.steps).in(language));
    words.push_back(fmt::format("{:.1f} %", 100 * done_share(p)));
  } else {
    words.push_back(base::say("step {}", p.step).in(language));
  }
  if (p.loss_curve.last_step > 0) {
    words.push_back(fmt::format("{} {}", base::say("loss").in(language), loss_words(p.loss)));
    if (p.valid_step > 0) words.push_back(base::say("valid {} at step {}", loss_words(p.valid_loss), p.valid_step).in(language));
    words.push_back(fmt::format("{} {}", base::say("grad norm").in(language),
                                std::isfinite(p.grad_norm) ? number_words(p.grad_norm) : "nan"));
    words.push_back(base::say("lr {}", number_words(p.lr)).in(language));
    words.push_back(fmt::format("{} {}", rate_words(p.tokens_per_second), base::say("tokens/s").in(language)));
  }
  if (std::isfinite(p.eta_seconds) && !is_over(view.condition))
    words.push_back(base::say("ETA {}", said_seconds(p.eta_seconds)).in(language));
  return base::join(words, "  ");
}

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
                                         said(language_, from->kind), records::in_both(from->text, from->incident).in(language_))));
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
    lines.push_back(indented(records::in_both(view.state->text, view.state->incident).in(language_)));
  begun_ = true;
  return lines;
}

}  // namespace troika::monitor
