// Tokens to syntax.
#pragma once

#include <string>
#include <vector>

#include "jinja/lexer.h"
#include "jinja/syntax.h"

namespace troika::jinja {

// DataError naming origin, line and what is wrong or not supported; so are filters, tests and functions that do not
// exist.
Body parse(const std::vector<Token>& tokens, const std::string& origin);

}  // namespace troika::jinja
