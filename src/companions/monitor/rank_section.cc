#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "monitor/screen.h"
#include "monitor/text_line.h"
#include "monitor/texts.h"

namespace troika::monitor {
namespace {

Table::Column left(std::string title, int weight) { return {std::move(title), Table::Align::left, weight}; }
Table::Column right(std::string title, int weight) { return {std::move(title), Table::Align::right, weight}; }

Table empty_table(Language language) {
  const auto title = [&](base::Phrase text) { return std::string(text.in(language)); };
  return Table({right("rank", 100),
                left(title(base::Phrase("host")), 60),
                left(title(base::Phrase("at")), 40),
                right(base::say("step").in(language), 30),
                {title(base::Phrase("where")), Table::Align::left, 95, 34, 24},
                {title(base::Phrase("waits for")), Table::Align::left, 90, 24, 10},
                right(title(base::Phrase("fwd")), 70),
                right(title(base::Phrase("bwd")), 70),
                right(title(base::Phrase("wait")), 80),
                right(title(base::Phrase("opt")), 50),
                right(title(base::Phrase("load")), 50),
                right(title(base::Phrase("save")), 45),
                right(title(base::Phrase("pace")), 75),
                right(title(base::Phrase("memory")), 55),
                right(title(base::Phrase("params")), 13),
                right(title(base::Phrase("grads")), 12),
                right(title(base::Phrase("state")), 11),
                right(title(base::Phrase("acts")), 10),
                right(title(base::Phrase("sent/s")), 35),
                right(title(base::Phrase("recv/s")), 34)});
}

std::string coordinates(const RankView& rank, const View& view) {
  if (!view.state) return "";
  std::vector<std::string> on;
  const records::RunState& s = *view.state;
  for (const auto& [name, size, at] :
       {std::tuple{"dp", s.dp, rank.dp}, {"pp", s.pp, rank.pp}, {"tp", s.tp, rank.tp}, {"cp", s.cp, rank.cp}})
    if (size > 1) on.push_back(fmt::format("{}{}", name, at));
  return base::join(on, " ");
}

std::string held(const RankView& rank, const char* what) {
  const auto found = rank.memory.find(what);
  return found == rank.memory.end() ? "" : base::format_bytes(found->second);
}

// The memory of the process, else the sum of its own count.
std::string memory_words(const RankView& rank) {
  if (rank.memory.count("resident") != 0) return held(rank, "resident");
  std::int64_t all = 0;
  for (const auto& [what, bytes] : rank.memory) all += bytes;
  return all == 0 ? "" : base::format_bytes(all);
}

std::vector<Cell> row_of(const RankView& rank, const View& view, const Frame& frame) {
  const auto share = [&](double value) { return Cell{rank.shares.known ? percent_words(value) : ""}; };
  const Style where = rank.standing == Standing::silent    ? Style::bad
                      : rank.standing == Standing::unheard ? Style::dim
                      : rank.held > 0                      ? Style::warning
                                                           : Style::plain;
  const std::string pace = std::isfinite(rank.pace_seconds) ? said_seconds(rank.pace_seconds) : "";
  const bool worrying = rank.slow || rank.standing == Standing::silent;
  return {{std::to_string(rank.rank), worrying ? Style::bad : Style::plain},
          {base::printable(rank.host, 100)},
          {coordinates(rank, view)},
          {rank.place.step > 0 ? std::to_string(rank.place.step) : ""},
          {where_words(rank, frame.language), where},
          {waits_words(rank, frame.language, frame.charset), rank.circle ? Style::bad : Style::dim},
          share(rank.shares.forward),
          share(rank.shares.backward),
          {share(rank.shares.wait).text, rank.shares.wait > 0.5 ? Style::warning : Style::plain},
          share(rank.shares.optimizer),
          share(rank.shares.load),
          share(rank.shares.save),
          {pace, rank.slow ? Style::bad : Style::plain},
          {memory_words(rank)},
          {held(rank, "parameters")},
          {held(rank, "gradients")},
          {held(rank, "state")},
          {held(rank, "activations")},
          {byte_rate_words(rank.sent_per_second)},
          {byte_rate_words(rank.received_per_second)}};
}

TextLine summed_up(const std::vector<const RankView*>& rest, const Frame& frame) {
  const auto count = [&](Standing standing) {
    return std::count_if(rest.begin(), rest.end(), [&](const RankView* rank) { return rank->standing == standing; });
  };
  std::string words = base::say("{} more: {} working, {} waiting, {} silent, {} not heard", rest.size(), count(Standing::works),
                           count(Standing::waits), count(Standing::silent), count(Standing::unheard)).in(frame.language);
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const RankView* rank : rest)
    if (std::isfinite(rank->pace_seconds))
      least = std::min(least, rank->pace_seconds), most = std::max(most, rank->pace_seconds);
  if (most > 0)
    words += (frame.language == Language::english ? "; " : "；") +
             base::say("pace {} to {}", said_seconds(least), said_seconds(most)).in(frame.language);
  return {words, Style::dim};
}

}  // namespace

std::vector<const RankView*> by_weight(const std::vector<RankView>& ranks) {
  std::vector<const RankView*> sorted;
  for (const RankView& rank : ranks) sorted.push_back(&rank);
  const auto weight = [](const RankView* rank) {
    const int kind = rank->slow                            ? 0
                     : rank->standing == Standing::silent  ? 1
                     : rank->held > 0                      ? 2
                     : rank->circle                        ? 3
                     : rank->standing == Standing::unheard ? 4
                                                           : 5;
    return std::tuple{kind, -rank->held, rank->rank};
  };
  std::sort(sorted.begin(), sorted.end(), [&](const RankView* a, const RankView* b) { return weight(a) < weight(b); });
  return sorted;
}

std::vector<TextLine> rank_section(const View& view, const Frame& frame, std::size_t most) {
  if (view.ranks.empty() || most < 2) return {};
  std::vector<const RankView*> shown = by_weight(view.ranks), rest;
  if (shown.size() + 1 > most) {  // a line for the titles
    const std::size_t rows = most > 2 ? most - 2 : 1;
    rest.assign(shown.begin() + static_cast<std::ptrdiff_t>(rows), shown.end());
    shown.resize(rows);
  } else {
    std::sort(shown.begin(), shown.end(), [](const RankView* a, const RankView* b) { return a->rank < b->rank; });
  }
  Table table = empty_table(frame.language);
  for (const RankView* rank : shown) table.add_row(row_of(*rank, view, frame));
  std::vector<TextLine> lines = table.lines(frame.width);
  if (!rest.empty() && lines.size() < most) lines.push_back(summed_up(rest, frame));
  return lines;
}

}  // namespace troika::monitor
