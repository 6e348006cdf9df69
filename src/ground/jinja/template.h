// Templates in the part of Jinja that chat templates use, with Python's semantics: the text that
// transformers renders (docs/formats/chat-template.md lists what is supported). Jinja:
// https://jinja.palletsprojects.com. Nothing here reads a file or starts a program.
#pragma once

#include <cstddef>
#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace troika::jinja {

struct Limits {
  std::size_t text_bytes = std::size_t{64} << 20;  // of the rendered text
  std::size_t total_bytes = std::size_t{1} << 30;  // made and read in one rendering
  int depth = 1000;                                // of expressions, statements and macros in each other
};

struct RenderOptions {
  Limits limits;
  std::tm now = {};  // what strftime_now tells
};

// Threads: const use is safe.
class Template {
 public:
  static constexpr std::size_t most_source_bytes = std::size_t{1} << 20;
  static void check_size(std::size_t source_bytes, const std::string& origin);  // DataError when there are more

  // Blocks are trimmed as transformers does: trim_blocks and lstrip_blocks. DataError naming `origin`, the line and
  // what is wrong or not supported: statements, filters, tests and functions are looked for here, not when they are
  // first used. DataError too as check_size.
  Template(const std::string& source, std::string origin);
  ~Template();

  // `context`: an object, the variables. DataError naming `origin`, the line and what went wrong there, or the
  // sentence that the template gave to raise_exception.
  std::string render(const nlohmann::ordered_json& context, const RenderOptions& options = {}) const;

 private:
  struct Parsed;
  std::string origin_;
  std::unique_ptr<const Parsed> parsed_;
};

}  // namespace troika::jinja
