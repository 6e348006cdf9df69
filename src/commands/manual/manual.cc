#include "commands/manual/manual.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::commands {

static ManualArguments parse_manual_arguments(const std::vector<std::string>& words) {
  ManualArguments a;
  const config::FlagTable table = manual_flags(a);
  config::FlagReading reading = config::read_flags({&table}, words);
  if (!a.page.empty() && !a.out.empty()) reading.refuse(base::say("--out writes all pages; leave out '{}'", a.page));
  reading.finish();
  return a;
}

std::string manual_report(const Call& call) {
  const ManualArguments a = parse_manual_arguments(call.words);
  if (a.out.empty()) return manual_page(a.page.empty() ? "troika" : a.page);
  const std::string folder = a.out + "/man1";
  base::make_directories(folder);
  for (const std::string& page : manual_pages())
    base::write_file_atomic(folder + "/" + manual_file(page), manual_page(page));
  return "";
}

config::FlagTable manual_flags(ManualArguments& a) {
  config::FlagTable table("troika manual");
  table.usage("[PAGE]");
  table.usage("--out DIR");
  table.word("PAGE", a.page, "A verb, or troika for the program's page.").unset("troika").offered(manual_pages);
  table.add("out", a.out, "Write all pages into DIR/man1 instead, where man finds them.").shown("DIR").unset("none");
  table.paragraph("To read one that is not installed: troika manual train | man -l -");
  return table;
}

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
