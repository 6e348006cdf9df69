// Values as Python prints them.
#pragma once

#include <string>

#include "jinja/value.h"

namespace troika::jinja {

// str(): text as it is, True, None, 1.0, ['a', 1], {'a': 'it"s'}; nothing of an undefined value. Throws Failure
// beyond the limits of the rendering.
std::string str(const Value& value, Rendering& rendering);

// repr(): as str, with quotes around text.
std::string repr(const Value& value, Rendering& rendering);

std::string real_text(double number);  // the shortest that reads back: 1.0, 1e-05, 1e+16, inf, nan

// text % value: %s, %r, %d, %i, %f with a precision, %%.
std::string printf_text(const std::string& format, const Value& values, Rendering& rendering);

}  // namespace troika::jinja
