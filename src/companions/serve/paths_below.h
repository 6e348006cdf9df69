// Paths that a page names: only what lies below one folder, by whatever links.
#pragma once

#include <string>

namespace troika::serve {

// The path without links, where all of it lies below `root` (Options::root): absolute, or from `root` on. What need not be there yet
// (`Missing::allowed`) lies in the last folder that is. ConfigError, as the end of a sentence: "is not below /data".
enum class Missing { refused, allowed };
std::string path_below(const std::string& root, const std::string& path, Missing missing);

// ConfigError, as the end of a sentence, where `path` (without links) is a folder that holds a link which leads out of `root`,
// at any depth.
void check_links_below(const std::string& root, const std::string& path);

// Whether an absolute path without links is `root` or below it.
bool lies_below(const std::string& root, const std::string& real_path);

}  // namespace troika::serve
