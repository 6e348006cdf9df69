// Why a call of the system failed, in both languages.
#pragma once

#include "base/language.h"

namespace troika::base {

// Of an errno: "No such file or directory". In Chinese where the table has it, else as the system says it.
Text system_cause(int code);

}  // namespace troika::base
