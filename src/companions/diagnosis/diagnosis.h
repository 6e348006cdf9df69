// Why a run failed, is slow or does not learn, as its folder tells: a cause, the evidence, and what to change. The causes:
// docs/formats/causes.md.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/language.h"
#include "base/say.h"

namespace troika::diagnosis {

using base::say;
using base::Text;
using base::verbatim;

// One change. `flag` is a flag of `troika train` or `troika launch` with its value, or what is to be done outside of them.
struct Advice {
  Text flag, reason;
};

// The grounds of a cause: facts, or somebody's report, which is quoted.
struct Evidence : Text {
  enum class Of { facts, quotation };
  Evidence(Text text, Of what = Of::facts) : Text(std::move(text)), of(what) {}  // NOLINT: most texts are of facts
  Of of;
};

struct Diagnosis {
  std::string cause = "none";  // a word of docs/formats/causes.md
  Text sentence;               // what the cause means
  std::vector<Evidence> evidence;
  std::vector<Advice> advice;
};

// Reads the folder, which may be damaged, and writes nothing. Never throws for what it holds.
Diagnosis diagnose(const std::string& folder);

// The diagnosis of a folder whose disk has not answered for so long, when nothing of it could be read.
Diagnosis of_silent_disk(const std::string& folder, double seconds);

// A few lines for a screen, with a newline at the end.
std::string describe(const Diagnosis& diagnosis, base::Language language);

// {"cause", "evidence": [...], "advice": [{"flag", "reason"}]}, indented, with a newline at the end.
std::string to_json(const Diagnosis& diagnosis, base::Language language);

// The words for causes, with what they mean in one sentence. Documented in docs/formats/causes.md.
struct Cause {
  std::string_view word;
  base::Phrase sentence;
};

const std::vector<Cause>& causes();  // "none" is the first

base::Phrase sentence_of(std::string_view word);  // BugError for a word that is none

}  // namespace troika::diagnosis
