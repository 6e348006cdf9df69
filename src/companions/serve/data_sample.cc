#include "serve/data_sample.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "serve/logs.h"
#include "serve/programs.h"

namespace troika::serve {
namespace {

constexpr std::size_t most_sample_bytes = 64 << 10;
constexpr const char* samples_shown = "3";

// Lines stay lines.
std::string readable(const std::string& text) {
  std::string lines;
  for (const std::string& line : base::split(text.substr(0, most_sample_bytes), '\n'))
    lines += shown_line(line, most_sample_bytes) + "\n";
  return lines;
}

}  // namespace

std::string data_sample(const Form& form, const Options& options, const Asked& asked, double deadline_seconds) {
  const ScratchFolder folder;
  ShortProgram inspect;
  inspect.words = {options.program, "data",        "inspect",
                   "--samples",     samples_shown, "--color",
                   "never",         "--lang",      asked.language == base::Language::english ? "en" : "zh"};
  for (std::string& word : words_of_settings(form)) inspect.words.push_back(std::move(word));
  inspect.words.insert(inspect.words.end(), {"--train.out", folder.file("run")});
  inspect.environment = environment_of_runs(options.environment);
  inspect.folder = options.root;
  inspect.log = folder.file("log");
  inspect.deadline_seconds = deadline_seconds;
  inspect.abandoned = asked.abandoned;
  const ShortEnd end = run_short(inspect);
  const std::string text = base::file_exists(inspect.log) ? readable(base::read_file(inspect.log)) : "";
  if (end == ShortEnd::well) return text;
  throw base::DataError(end == ShortEnd::too_late ? base::say("the data were not read within {:.0f} s", deadline_seconds)
                                                  : base::say("the data could not be read; the program printed:\n{}", text));
}

}  // namespace troika::serve
