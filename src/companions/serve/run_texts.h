// What the page is told of what may not be done with a run, in both languages.
#pragma once

#include <vector>

#include "base/language.h"
#include "base/say.h"

namespace troika::serve {

enum class Say {
  not_under_way,   // name
  led_elsewhere,   // name, host
  not_reached,     // name, pid
  under_way,       // name
  name_taken,      // name
  something_else,  // name
  served_is_run,
  no_settings,            // name
  several_hosts,          // name, how many, lines
  only_typed,             // name, file, what of its settings, line
  ended_at_once,          // exit code, last words
  no_checkpoint,          // name
  no_checkpoint_of_step,  // name, step
  being_exported,         // name, step
  exported,               // name, step, folder
  how_is_save_or_now,
  needs_data,
  body_is_no_object,
  step_is_no_number,
  no_messages,
  answers_already,
};

const base::Bilingual& text_of(Say text);
std::vector<base::Bilingual> all_run_texts();  // for their test

template <class... Arguments>
base::Text said(Say text, const Arguments&... arguments) {
  return base::say(text_of(text), arguments...);
}

}  // namespace troika::serve
