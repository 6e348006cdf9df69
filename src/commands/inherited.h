// What a process inherits from the one that started it, as far as it would change what Troika does.
#pragma once

namespace troika::commands {

// First in main, before a thread starts. SIGCHLD ignored by a parent would hide how ranks end; a file beyond the limit of sizes (ulimit -f)
// becomes an error of the write; Ctrl-C and SIGTERM end the program until somebody listens to them. ConfigError where the stack
// (ulimit -s) is too small and the system does not let it grow.
void settle_inherited();

// The C library's heap as training needs it.

// glibc until 2.37 cuts a few bytes off the front of an aligned block and keeps them in a thread's cache, where they are never
// joined with their neighbours again: the scratch memory of oneDNN then takes new memory time after time, up to 50 MB, as chance
// places it. Without that cache it does not. The setting (GLIBC_TUNABLES) is read when a program starts and nowhere else, so the
// program starts itself again with it; does not return then. What the user set stays, and where the program cannot be started it
// goes on as it is. First in main, before a thread starts.
void start_with_a_whole_heap(char** argv);

}  // namespace troika::commands
