#include "serve/logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "serve/log_text.h"
#include "serve/routes.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t block_bytes = 1 << 20, most_bytes_read = 32 << 20;
constexpr std::int64_t most_ranks_listed = 16384;

// Takes lines from the end of a file towards its beginning.
class BackwardsReader {
 public:
  BackwardsReader(const RunFile& file, const LogQuestion& question)
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

  // `text` stands at `begin`; its first line may begin before that.
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

  const RunFile& file_;
  const LineSearch search_;
  const std::size_t most_lines_;
  std::int64_t end_;  // before which nothing has been looked at
  LogPage page_;
};

// "rank-00003.log" -> 3; -1 for another name.
std::int64_t rank_of_log_file(const std::string& name) {
  const std::string begin = "rank-", ending = ".log";
  std::int64_t rank = -1;
  if (name.size() <= begin.size() + ending.size() || name.compare(0, begin.size(), begin) != 0) return -1;
  if (name.compare(name.size() - ending.size(), ending.size(), ending) != 0) return -1;
  if (!base::parse_int(name.substr(begin.size(), name.size() - begin.size() - ending.size()), &rank)) return -1;
  return rank;
}

// Of which there are logs.
Json logs_in(const std::string& folder) {
  Json found = Json::array();
  try {
    for (const std::string& name : base::list_directory(folder + "/logs")) {
      const std::int64_t rank = rank_of_log_file(name);
      if (rank >= 0 && static_cast<std::int64_t>(found.size()) < most_ranks_listed) found.push_back(rank);
    }
  } catch (const base::DataError&) {  // it may not be read
  }
  for (const char* other : {"run", "launch"})
    if (RunFile::open(folder, std::string(other) + ".log")) found.push_back(other);
  return found;
}

std::string file_of_log(const std::string& which) {
  std::int64_t rank = 0;
  if (which == "run" || which == "launch") return which + ".log";
  if (!base::parse_int(which, &rank) || rank < 0) throw Refused{400, base::say("rank is the number of a rank, run or launch, not '{}'", which)};
  return fmt::format("logs/rank-{:05}.log", rank);
}

}  // namespace

LogPage read_log(const RunFile& file, const LogQuestion& question) { return BackwardsReader(file, question).read(); }

std::string log_json(const std::string& folder, const std::string& which, const LogQuestion& question) {
  LogPage page;
  if (const std::optional<RunFile> file = RunFile::open(folder, file_of_log(which))) page = read_log(*file, question);
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

}  // namespace troika::serve
