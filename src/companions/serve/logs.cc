#include "serve/logs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/file.h"
#include "base/say.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "diagnosis/facts.h"
#include "records/run_reader.h"
#include "monitor/find_run.h"
#include "serve/form.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t block_bytes = 1 << 20, most_bytes_read = 32 << 20;
constexpr std::int64_t most_ranks_listed = 16384;

// Takes lines from the end of a file towards its beginning.
class BackwardsReader {
 public:
  BackwardsReader(const base::RunFile& file, const LogQuestion& question)
      : file_(file),
        search_(question.search),
        most_lines_(question.lines),
        end_(std::clamp<std::int64_t>(question.before.value_or(file.facts().bytes), 0, file.facts().bytes)) {}

  LogPage read() {
    for (std::int64_t left = most_bytes_read; end_ > 0 && left > 0 && !full();) {
      const std::int64_t begin = std::max<std::int64_t>(end_ - block_bytes, 0);
      std::string text = file_.text(begin, end_ - begin);
      left -= end_ - begin;
      take_lines(text, begin);
    }
    std::reverse(page_.lines.begin(), page_.lines.end());
    if (end_ > 0) page_.before = end_;
    return std::move(page_);
  }

 private:
  bool full() const { return page_.lines.size() >= most_lines_; }

  // `text` begins at `begin` in the file; its first line may begin before that.
  void take_lines(std::string_view text, std::int64_t begin) {
    const std::size_t first_newline = begin == 0 ? std::string_view::npos : text.find('\n');
    const std::size_t first = first_newline == std::string_view::npos || first_newline + 1 >= text.size()
                                  ? 0  // one line, or a part of it
                                  : first_newline + 1;
    std::size_t end = text.size();
    while (end > first && !full()) {
      const std::size_t behind = text[end - 1] == '\n' ? end - 1 : end;
      std::size_t at = behind;
      while (at > first && text[at - 1] != '\n') --at;
      take(text.substr(at, behind - at), begin + static_cast<std::int64_t>(at));
      end = at;
    }
    end_ = begin + static_cast<std::int64_t>(end);
  }

  void take(std::string_view line, std::int64_t offset) {
    const bool all = search_.takes_all();
    std::string shown = shown_line(line, all ? most_line_bytes : line.size() * 3);
    if (!all && !search_.found_in(shown)) return;
    if (shown.size() > most_line_bytes) shown = shown_line(shown);
    page_.lines.push_back({offset, std::move(shown)});
  }

  const base::RunFile& file_;
  const LineSearch search_;
  const std::size_t most_lines_;
  std::int64_t end_;  // before which nothing has been looked at
  LogPage page_;
};

// The ranks and programs that have logs.
Json logs_in(const std::string& folder) {
  Json found = Json::array();
  for (const std::string& name : monitor::names_in(folder + "/logs")) {
    const int rank = diagnosis::rank_of_log(name);
    if (rank >= 0 && static_cast<std::int64_t>(found.size()) < most_ranks_listed) found.push_back(rank);
  }
  for (const char* other : {"run", "launch"})
    if (base::RunFile::open(folder, std::string(other) + ".log")) found.push_back(other);
  return found;
}

std::string file_of_log(const std::string& which) {
  std::int64_t rank = 0;
  if (which == "run" || which == "launch") return which + ".log";
  if (!base::parse_int(which, &rank) || rank < 0) throw Refused{400, base::say("rank must be the number of a rank, run or launch, not '{}'", which)};
  return fmt::format("logs/rank-{:05}.log", rank);
}

constexpr char escape = '\x1b', bell = '\x07';
constexpr std::string_view replacement = "\xef\xbf\xbd";

bool is_plain(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](unsigned char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; });
}

bool within(char c, unsigned char first, unsigned char last) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= first && byte <= last;
}

// Behind the sequence that an escape character at the front of `text` begins: ECMA-48, 5.3 to 5.6 and 8.3.
std::size_t escape_bytes(std::string_view text) {
  if (text.size() < 2) return 1;
  std::size_t at = 2;
  if (text[1] == '[') {
    while (at < text.size() && within(text[at], 0x20, 0x3f)) ++at;
    return at < text.size() && within(text[at], 0x40, 0x7e) ? at + 1 : at;
  }
  if (std::string_view("]PX^_").find(text[1]) != std::string_view::npos) {  // a string, to its end
    for (; at < text.size(); ++at) {
      if (text[at] == bell) return at + 1;
      if (text[at] == escape) return at + 1 < text.size() && text[at + 1] == '\\' ? at + 2 : at;
    }
    return at;
  }
  at = 1;
  while (at < text.size() && within(text[at], 0x20, 0x2f)) ++at;
  return at < text.size() && within(text[at], 0x30, 0x7e) ? at + 1 : at;
}

std::string_view last_overwritten(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t at = line.rfind('\r');
  return at == std::string_view::npos ? line : line.substr(at + 1);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

LogPage read_log(const base::RunFile& file, const LogQuestion& question) { return BackwardsReader(file, question).read(); }

std::string log_json(const std::string& folder, const std::string& which, const LogQuestion& question) {
  LogPage page;
  if (const std::optional<base::RunFile> file = base::RunFile::open(folder, file_of_log(which))) page = read_log(*file, question);
  std::int64_t rank = 0;
  const Json told = base::parse_int(which, &rank) ? Json(rank) : Json(which);
  Json lines = Json::array();
  for (LogLine& line : page.lines)
    lines.push_back({{"offset", line.offset}, {"rank", told}, {"text", std::move(line.text)}});
  const Json answer = {{"lines", std::move(lines)},
                       {"before", page.before ? Json(*page.before) : Json(nullptr)},
                       {"ranks", logs_in(folder)}};
  return answer.dump() + "\n";
}

std::string events_json(const std::string& folder) {
  constexpr records::Kept kept{1, 1, 1000, 4 << 20};
  records::RunReader run(folder, kept);
  run.refresh();
  std::string text = "[";
  for (const records::Event& event : run.events()) text += (text.size() > 1 ? ",\n" : "") + to_json(event);
  return text + "]\n";
}

std::string shown_line(std::string_view line, std::size_t most_bytes) {
  constexpr std::string_view more = " ...";
  line = last_overwritten(line);
  if (line.size() <= most_bytes && is_plain(line)) return std::string(line);
  std::string shown;
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view rest = line.substr(at);
    if (rest.front() == escape) {
      at += escape_bytes(rest);
      continue;
    }
    const std::size_t bytes = base::utf8_character_bytes(rest);
    const std::string_view character = bytes == 0 ? replacement : rest.substr(0, bytes);
    at += std::max<std::size_t>(bytes, 1);
    if (character == "\n" || !base::is_printable(character)) continue;
    if (shown.size() + character.size() > most_bytes) return shown.append(more);
    shown += character;
  }
  return shown;
}

LineSearch::LineSearch(std::string_view wanted) : wanted_(wanted) {
  std::transform(wanted_.begin(), wanted_.end(), wanted_.begin(), lower);
}

bool LineSearch::found_in(std::string_view line) const {
  if (wanted_.empty()) return true;
  const auto same = [](char a, char b) { return lower(a) == b; };
  return std::search(line.begin(), line.end(), wanted_.begin(), wanted_.end(), same) != line.end();
}

}  // namespace troika::serve
