#include "commands/manual/notes.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace troika::commands {
namespace {

std::vector<PageNotes> read_pages() {
  std::map<std::string_view, std::string_view> shared;
  std::vector<PageNotes> pages;
  for (std::string_view line : base::table_lines(manual_tables().front().bytes)) {
    const std::string_view kind = base::cut_at(": ", &line), what = base::cut_at(": ", &line);
    const std::string_view text = line.empty() && shared.count(what) > 0 ? shared[what] : line;
    if (kind == "shared") {
      shared[what] = text;
    } else if (kind == "page") {
      pages.push_back({what, {}, {}, {}, {}});
      while (!line.empty()) pages.back().related.push_back(base::cut_at(" ", &line));
    } else {
      PageNotes& page = pages.back();
      (kind == "example" ? page.examples : kind == "file" ? page.files : page.variables).push_back({what, text});
    }
  }
  return pages;
}

}  // namespace

const PageNotes& notes_of(std::string_view page) {
  static const std::vector<PageNotes> pages = read_pages();
  const auto found = std::find_if(pages.begin(), pages.end(), [&](const PageNotes& row) { return row.page == page; });
  if (found == pages.end())
    throw base::BugError("commands/manual/tables/notes.txt has no page '" + std::string(page) + "'");
  return *found;
}

}  // namespace troika::commands
