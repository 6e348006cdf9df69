// Logs as the page shows and searches them.
#include <fcntl.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "fuzz/input.h"
#include "fuzz/memory_file.h"
#include "fuzz/outcome.h"
#include "serve/logs.h"

namespace troika::fuzz {
namespace {

using namespace serve;

void require_shown(const std::string& text) {
  require(base::is_utf8(text), "what is shown is UTF-8");
  require(text.size() <= most_line_bytes + 4, "lines have a limit");
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    require((byte >= 0x20 && byte != 0x7f) || c == '\t', "no control characters are shown");
  }
}

// From the end to the beginning, a page after the other.
std::vector<serve::LogLine> whole_log(const base::RunFile& file, serve::LogQuestion question) {
  std::vector<serve::LogLine> all;
  for (;;) {
    const serve::LogPage page = serve::read_log(file, question);
    require(page.lines.size() <= question.lines, "a page has a limit");
    all.insert(all.begin(), page.lines.begin(), page.lines.end());
    if (!page.before) return all;
    require(*page.before < question.before.value_or(file.facts().bytes), "pages go on");
    question.before = page.before;
  }
}

std::vector<serve::LogLine> lines_forwards(std::string_view text, const std::string& search) {
  const serve::LineSearch wanted(search);
  std::vector<serve::LogLine> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (wanted.found_in(serve::shown_line(line, 3 * line.size())))
      lines.push_back({static_cast<std::int64_t>(at), serve::shown_line(line)});
    at = end + 1;
  }
  return lines;
}

}  // namespace
}  // namespace troika::fuzz

// A byte for the lines of a page, one for the length of what is searched for, that, and the log.
TROIKA_FUZZ_TARGET(serve_logs)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  static fuzz::MemoryFile file;
  if (size < 2) return 0;
  const std::string_view input = fuzz::text_of(data + 2, size - 2);
  const std::size_t searched = std::min<std::size_t>(input.size(), data[1] % 16);
  const std::string search(input.substr(0, searched));
  const std::string_view text = input.substr(searched);
  file.set(text);
  const base::RunFile opened =
      *base::RunFile::of(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
  for (const std::string& wanted : {std::string(), search}) {
    const auto backwards = fuzz::whole_log(opened, {wanted, {}, data[0] % 32U + 1});
    const auto forwards = fuzz::lines_forwards(text, wanted);
    fuzz::require(backwards.size() == forwards.size(), "every line is found once");
    for (std::size_t i = 0; i < forwards.size(); ++i) {
      fuzz::require(backwards[i].offset == forwards[i].offset && backwards[i].text == forwards[i].text,
                    "lines are the same in both directions");
      fuzz::require_shown(backwards[i].text);
    }
  }
  return 0;
}
