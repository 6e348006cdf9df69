// The words of incidents: their kinds in records, and every sentence. A new kind is an enumerator (incident.h) with a row, a sentence and
// a case in sentences.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "records/incident.h"

namespace troika::records {

std::string_view word_of(IncidentKind kind);
IncidentKind kind_of(std::string_view word);  // told where this version knows no such word

// A sentence as it was written, and in Chinese where its values tell the same: one of before may hold more than they do.
base::Text in_both(const std::string& written, const std::optional<Incident>& incident);

}  // namespace troika::records
