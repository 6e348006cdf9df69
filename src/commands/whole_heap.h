// The C library's heap as training needs it.
#pragma once

namespace troika::commands {

// glibc until 2.37 cuts a few bytes off the front of an aligned block and keeps them in a thread's cache, where they are never
// joined with their neighbours again: the scratch memory of oneDNN then takes new memory time after time, up to 50 MB, as chance
// places it. Without that cache it does not. The setting (GLIBC_TUNABLES) is read when a program starts and nowhere else, so the
// program starts itself again with it; does not return then. What the user set stays, and where the program cannot be started it
// goes on as it is. First in main, before a thread starts.
void start_with_a_whole_heap(char** argv);

}  // namespace troika::commands
