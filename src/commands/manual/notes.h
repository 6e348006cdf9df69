// What a manual page says beside the table of flags: examples, files, variables that no row of a table names, other pages.
#pragma once

#include <string_view>
#include <vector>

namespace troika::commands {

struct Note {
  std::string_view what, text;  // a command, a path or a variable; what it is
};

struct PageNotes {
  std::string_view page;  // "troika" or a verb
  std::vector<Note> examples;
  std::vector<Note> files;
  std::vector<Note> variables;
  std::vector<std::string_view> related;  // verbs
};

struct Asset {
  std::string_view path;   // below src/commands/manual/tables
  std::string_view bytes;  // as long as the program runs
};
std::vector<Asset> manual_tables();  // notes.txt

const PageNotes& notes_of(std::string_view page);  // BugError where the table has none

}  // namespace troika::commands
