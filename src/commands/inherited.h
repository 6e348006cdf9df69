// What a process inherits from the one that started it, as far as it would change what Troika does.
#pragma once

namespace troika::commands {

// First in main, before a thread starts. SIGCHLD ignored by a parent would hide how ranks end; a file beyond the limit of sizes (ulimit -f)
// becomes an error of the write; Ctrl-C and SIGTERM end the program until somebody listens to them. ConfigError where the stack
// (ulimit -s) is too small and the system does not let it grow.
void settle_inherited();

}  // namespace troika::commands
