// What `troika monitor` shows, in the words of one language.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/language.h"
#include "monitor/view.h"

namespace troika::monitor {

using base::Language;

template <class... Arguments>
std::string said(Language language, base::Phrase text, const Arguments&... arguments) {
  return fmt::format(fmt::runtime(text.in(language)), arguments...);
}
template <class... Arguments>
std::string said(Language language, const char* english, const Arguments&... arguments) {
  return said(language, base::Phrase(english), arguments...);
}

std::string said(Language language, Condition condition);
std::string said(Language language, const Finding& finding);
// Of an event: "save", "rank ended".
std::string said(Language language, records::EventKind kind);
// What an event tells; in English as it was written.
std::string said_text(Language language, const records::Event& event);
// What a run ended with, likewise.
std::string said_end(Language language, const records::RunState& state);

// "20 ms", "3.5 s", "3 min 20 s".
std::string said_seconds(double seconds);

}  // namespace troika::monitor
