#include "monitor/screen.h"

#include <algorithm>
#include <iterator>

#include "monitor/texts.h"

namespace troika::monitor {
namespace {

struct Budget {
  std::size_t loss_rows = 3, findings = 24, ranks = 34, hosts = 18, links = 1, events = 11;
  std::size_t blank = 1;  // lines between the parts
};

std::size_t lines_of(std::size_t rows) { return rows == 0 ? 0 : rows + 1; }  // with the titles

// Of a screen of `height` lines, `head` of which are taken. Ranks get what is left; what is less than they need goes first from
// the events, then from links and hosts.
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
  if (frame.height > 1) lines.emplace_back(said(frame.language, "q leaves"), Style::dim);
  return lines;
}

std::string plain_text(const std::vector<TextLine>& lines, std::size_t width) {
  std::string text;
  for (const TextLine& line : lines) text += line.plain(width) + "\n";
  return text;
}

}  // namespace troika::monitor
