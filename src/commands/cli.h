// What both programs do around a verb: capture the environment, run, print an error once, give the exit code.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace troika::commands {

std::map<std::string, std::string> capture_environment(char** environment);

// What a verb needs less memory by.
std::string_view memory_remedy(std::string_view verb);

// Runs `verb` and returns its exit code; an exception becomes its text on stderr and the code of its kind. `last_words` gets the text
// too; empty: nobody does. `name`: of the verb.
int guarded(const std::function<int()>& verb, const std::function<void(const std::string& text)>& last_words = {},
            std::string_view name = "");

}  // namespace troika::commands
