// Why a call of the system failed, in both languages.
#pragma once

#include "base/language.h"

namespace troika::base {

// The text of an errno: "No such file or directory". Chinese if the table has it, else the system's text.
Text system_cause(int code);

}  // namespace troika::base
