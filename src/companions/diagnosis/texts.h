// All sentences of diagnoses, but those of the causes themselves (causes.h).
#pragma once

#include <vector>

#include "base/language.h"
#include "diagnosis/failure_texts.h"
#include "diagnosis/training_texts.h"

namespace troika::diagnosis {

struct Texts : FailureTexts, TrainingTexts {};
inline constexpr Texts texts{};

std::vector<base::Bilingual> all_texts();  // every one of them, for tests

}  // namespace troika::diagnosis
