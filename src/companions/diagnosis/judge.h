// From facts to a diagnosis.
#pragma once

#include "diagnosis/diagnosis.h"
#include "diagnosis/facts.h"

namespace troika::diagnosis {

// The first rule that holds, in the order of docs/formats/causes.md; "none" where none does.
Diagnosis judge(const Facts& facts);

}  // namespace troika::diagnosis
