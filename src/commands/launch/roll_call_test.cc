#include "commands/launch/roll_call.h"

#include <gmock/gmock.h>

namespace troika::commands {
namespace {

TEST(Greeting, IsReadAmongAShellsOwnWords) {
  const Greeting greeting =
      read_greeting("Welcome to pi1!\ntroika 0.1.0\r\ntroika-ssh 10.0.0.9 51234 10.0.0.1 22\nLast login: never\n");
  EXPECT_EQ(greeting.version, "troika 0.1.0");
  EXPECT_EQ(greeting.from, "10.0.0.9");
  EXPECT_EQ(greeting.host_address, "10.0.0.1");
}

TEST(Greeting, MayLeaveTheAddressesOut) {
  const Greeting greeting = read_greeting("troika 0.1.0\ntroika-ssh\n");
  EXPECT_EQ(greeting.version, "troika 0.1.0");
  EXPECT_EQ(greeting.host_address, "");
  EXPECT_EQ(read_greeting("").version, "");
}

TEST(Greeting, AsksInTheRunsFolder) {
  EXPECT_EQ(greeting_command("/srv/my run", "/usr/bin/troika"),
            "cd '/srv/my run' && /usr/bin/troika version && echo troika-ssh $SSH_CONNECTION");
  EXPECT_EQ(in_folder("~/run"), "cd run && ");
  EXPECT_EQ(in_folder("~"), "");
}

}  // namespace
}  // namespace troika::commands
