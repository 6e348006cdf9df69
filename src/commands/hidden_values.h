// Command lines without the passwords and tokens that stand in them, before anybody passes them on, shows or keeps them.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

// `arguments` begin with an existing verb, or with --lang and one. What a verb drops is "..." in it, of `launch` also what its ranks drop.
Words without_hidden_values(const Words& arguments);

// Words of a program that is not ours, to be shown: "..." for the values of flags whose names say password, secret, token or key.
Words with_secrets_hidden(const Words& words);

// Takes out of `argv`, which `ps` shows, what `clean` (the words behind the program's name) has not.
void hide_in(char** argv, const Words& clean);

}  // namespace troika::commands
