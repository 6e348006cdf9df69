#include "doctor/texts.h"

namespace troika::doctor {

#define TROIKA_DOCTOR_PAIR(name, english, chinese) base::Bilingual{english, chinese},
static const base::Bilingual doctor_texts[] = {TROIKA_DOCTOR_TEXTS(TROIKA_DOCTOR_PAIR)};
#undef TROIKA_DOCTOR_PAIR

base::Bilingual bilingual(Text text) { return doctor_texts[static_cast<std::size_t>(text)]; }

std::vector<base::Bilingual> all_texts() { return {std::begin(doctor_texts), std::end(doctor_texts)}; }

}  // namespace troika::doctor
