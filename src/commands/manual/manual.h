// `troika manual`: the pages that man shows, printed or written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

// Returns what is to be printed: a page, or "" where all have been written. ConfigError, DataError.
std::string manual_report(const Call& call);

struct ManualArguments {
  std::string page;  // "troika", or a verb with or without "troika-" before and ".1" behind
  std::string out;   // "": the page is printed
};

config::FlagTable manual_flags(ManualArguments& a);

// What a manual page says beside the table of flags: examples, files, variables that no row of a table names, other pages.
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

// The pages that man shows: one of the program and one of each verb, printed from the tables that --help and docs/settings.md
// are printed from.

// "troika" and the names of all verbs.
std::vector<std::string> manual_pages();

// The page in the macros of man(7). name: "troika", or a verb, which may have "troika-" before and ".1" behind it. ConfigError for
// another, with the nearest.
std::string manual_page(const std::string& name);

// "troika-train.1"
std::string manual_file(const std::string& page);

// The program whose package has the page.

// Text in the macros of man(7), as groff and mandoc read it without a warning.

// As it is printed, letter by letter: a dash stays a dash and a quote a quote, so that what is copied can be typed.
std::string roff_text(std::string_view text);
std::string roff_bold(std::string_view text);
std::string roff_italic(std::string_view text);
// Prose: what stands between ` and ` is bold.
std::string roff_prose(std::string_view text);

// A page under construction. What it takes is roff already (the functions above), but for the texts of head().
class RoffPage {
 public:
  void head(std::string_view name, std::string_view date, std::string_view version);
  void section(std::string_view title);
  void subsection(std::string_view title);
  void paragraph(const std::string& text);                     // filled
  void item(const std::string& tag, const std::string& text);  // the tag hangs out
  void lines(const std::string& text);                         // one below the other, as they are
  void break_line();                                           // within a paragraph
  void filled(const std::string& text);                        // continues the paragraph
  void append(const RoffPage& other) { text_ += other.text_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool below_heading_ = false;
};

}  // namespace troika::commands
