// Words of a command line that a user is told to type.
#pragma once

#include <string>

namespace troika::host {

std::string shell_word(const std::string& word);  // as a shell takes it: quoted where it has to be

}  // namespace troika::host
