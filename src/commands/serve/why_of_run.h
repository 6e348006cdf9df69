// Why a run failed, is slow or does not learn, found by a process of its own.
#pragma once

#include <string>

#include "base/language.h"
#include "config/flag_table.h"

namespace troika::commands::serve {

// What `PROGRAM why FOLDER --json` prints, with the sentence of its cause. That program gives up a disk that does not answer after
// 10 s. Refused 404 for a folder that holds no records yet.
std::string why_json(const std::string& program, const std::string& folder, const config::Environment& environment,
                     base::Language language);

}  // namespace troika::commands::serve
