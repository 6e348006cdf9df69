// Text in the macros of man(7), as groff and mandoc read it without a warning.
#pragma once

#include <string>
#include <string_view>

namespace troika::commands {

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
