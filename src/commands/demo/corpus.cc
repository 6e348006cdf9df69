#include "commands/demo/corpus.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace troika::commands {
namespace {

constexpr const char* first_words_of_licences = "Permission is ";

std::vector<std::string> headers_below(const std::string& root) {
  std::vector<std::string> found;
  for (const char* folder : {"/usr/include/c++", "/usr/include/linux", "/usr/include/asm-generic"})
    if (base::directory_exists(root + folder)) found.push_back(root + folder);
  return found;
}

void must_be_there(const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    if (!std::filesystem::exists(text))
      throw base::ConfigError(fmt::format("--text: there is no file or folder '{}'", text));
}

}  // namespace

Corpus corpus_of(const std::vector<std::string>& given, const std::string& programs, const std::string& root) {
  must_be_there(given);
  if (!given.empty()) return {given, base::join(given, ", "), "The "};
  const std::string bundle = std::filesystem::path(programs).parent_path().string();
  if (base::file_exists(bundle + "/MANIFEST") && base::directory_exists(bundle + "/licenses"))
    return {{bundle + "/licenses"}, "the licenses in this bundle", first_words_of_licences};
  if (const auto headers = headers_below(root); !headers.empty())
    return {headers, "the C and C++ headers of this machine", "#ifndef _"};
  const std::string licences = root + "/usr/share/common-licenses";
  if (base::directory_exists(licences)) return {{licences}, "the licences of this machine", first_words_of_licences};
  throw base::ConfigError(
      "there is neither /usr/include nor /usr/share/common-licenses to train on; name a text: --text FOLDER");
}

}  // namespace troika::commands
