// Progress of the data verbs on the screen.
#pragma once

#include <cstdio>
#include <string>

#include "data/made_once.h"

namespace troika::commands {

// A bar on a terminal, elsewhere a line every ten seconds; nothing where `to` is null. `what`: "tokenizing", in the language of the screen.
data::OnProgress shown_progress(const std::string& what, std::FILE* to);

}  // namespace troika::commands
