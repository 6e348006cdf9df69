// The common frame of both programs around a verb: capture the environment, run, print an error once, give the exit code.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "commands/verbs.h"
#include "rendezvous/failure_report.h"

namespace troika::commands {

std::map<std::string, std::string> capture_environment(char** environment);

// Advice to reduce the memory of a verb.
base::Text memory_remedy(std::string_view verb);

// The language of a command line: of its last --lang in front of a lone `--`, else of the locale. ConfigError for another word than en,
// zh and auto.
base::Language language_of_words(const std::vector<std::string>& arguments,
                                 const std::map<std::string, std::string>& environment);
// The words without it: it belongs to every verb. And the indices of these words in `arguments`.
std::vector<std::string> without_language(const std::vector<std::string>& arguments);
std::vector<std::size_t> places_without_language(const std::vector<std::string>& arguments);

// Runs `verb` and returns its exit code; an exception becomes its text on stderr, in `language`, and the code of its kind. `last_words`
// gets it too; empty: nobody does. `name`: of the verb.
int guarded(const std::function<int()>& verb, base::Language language = base::Language::english,
            const std::function<void(const rendezvous::FailureReport&)>& last_words = {}, std::string_view name = "");

// Why the program ends, for whoever has started it: a pod reads sentences, with `explanation` below them; a program that has named a file
// in this variable, as a sweep does, reads the report (rendezvous::to_text). Never throws.
inline constexpr const char* failure_file_variable = "TROIKA_FAILURE_FILE";
void leave_last_words(const rendezvous::FailureReport& report, const std::map<std::string, std::string>& environment,
                      base::Language language, const std::string& explanation = "");

// DataError where text that was written to `out` has been lost: the disk is full, or it is closed.
void check_written(std::FILE* out);

// Command lines without the passwords and tokens in them, before anybody passes them on, shows or keeps them.

// `arguments` begin with an existing verb, or with --lang and one. What a verb drops is "..." in it, of `launch` also what its ranks drop.
Words without_hidden_values(const Words& arguments);

// Words of a program that is not ours, to be shown: "..." for the values of flags whose names say password, secret, token or key.
Words with_secrets_hidden(const Words& words);

// Takes out of `argv`, which `ps` shows, what `clean` (the words behind the program's name) has not.
void hide_in(char** argv, const Words& clean);

// Settles the inherited state of the process, as far as it would change the work of Troika: first in main, before a thread
// starts. SIGCHLD ignored by a parent would hide how ranks end; a file beyond the limit of sizes (ulimit -f)
// becomes an error of the write; Ctrl-C and SIGTERM end the program until somebody listens to them. ConfigError where the stack
// (ulimit -s) is too small and the system does not let it grow.
void settle_inherited();

// The C library's heap as training needs it.

// glibc until 2.37 cuts a few bytes off the front of an aligned block and keeps them in a thread's cache, where they are never
// joined with their neighbours again: the scratch memory of oneDNN then takes new memory time after time, up to 50 MB, as chance
// places it. Without that cache it does not. The setting (GLIBC_TUNABLES) is read when a program starts and nowhere else, so the
// program starts itself again with it; does not return then. What the user set stays, and where the program cannot be started it
// continues as it is. First in main, before a thread starts.
void start_with_a_whole_heap(char** argv);

}  // namespace troika::commands
