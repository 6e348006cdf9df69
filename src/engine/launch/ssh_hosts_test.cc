#include "launch/ssh_hosts.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::launch {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

std::string fault_of_hosts(const std::string& text) {
  try {
    parse_hosts(text, "hosts.txt");
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(HostsFile, HasAHostALine) {
  const auto hosts = parse_hosts("# my hosts\npi1\n\n  me@pi2:2222 # the second\n[fe80::1]:22\nfe80::2\n", "hosts.txt");
  ASSERT_EQ(hosts.size(), 4u);
  EXPECT_EQ(hosts[0].destination, "pi1");
  EXPECT_EQ(hosts[0].port, 0);
  EXPECT_EQ(hosts[1].destination, "me@pi2");
  EXPECT_EQ(hosts[1].host, "pi2");
  EXPECT_EQ(hosts[1].port, 2222);
  EXPECT_EQ(hosts[2].host, "fe80::1");
  EXPECT_EQ(hosts[2].port, 22);
  EXPECT_EQ(hosts[3].host, "fe80::2");
}

TEST(HostsFile, IsRefusedWithEveryTypoAndItsLine) {
  const std::string fault =
      fault_of_hosts("pi1\npi2 slots=4\npi3:\npi4:99999\npi1\n-oProxyCommand=x\n@pi5\npi6;reboot\n");
  EXPECT_THAT(fault, HasSubstr("hosts.txt line 2: 'pi2 slots=4' has more than one host"));
  EXPECT_THAT(fault, HasSubstr("line 3: 'pi3:' ends with ':' without a port"));
  EXPECT_THAT(fault, HasSubstr("line 4: 'pi4:99999' has the port '99999'"));
  EXPECT_THAT(fault, HasSubstr("line 5: 'pi1' is listed twice"));
  EXPECT_THAT(fault, HasSubstr("line 6"));
  EXPECT_THAT(fault, HasSubstr("line 7"));
  EXPECT_THAT(fault, HasSubstr("line 8"));
  EXPECT_THAT(fault_of_hosts("# nobody\n"), HasSubstr("lists no hosts"));
  EXPECT_EQ(fault_of_hosts("root:geheim@pi9\n"),
            "hosts.txt line 1: 'root:...@pi9' has a password before '@', which ssh does not accept: use a key");
}

TEST(HostsFile, IsWhatAFlagNamesWhereThereIsOne) {
  const base::TemporaryFolder folder;
  const std::string path = folder.path() + "/pis";
  base::write_file_atomic(path, "pi1\nme@pi2\n");
  EXPECT_EQ(hosts_of(path).size(), 2u);
  EXPECT_THROW(hosts_of(folder.path() + "/nowhere"), base::DataError);
}

TEST(Hosts, StandBetweenCommas) {
  const auto hosts = hosts_of("localhost, me@pi2:2222,[fe80::1]:22,");
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_TRUE(is_this_host(hosts[0]));
  EXPECT_EQ(hosts[1].destination, "me@pi2");
  EXPECT_FALSE(is_this_host(hosts[1]));
  EXPECT_EQ(hosts[2].host, "fe80::1");
  EXPECT_THROW(hosts_of("pi1,pi1"), base::ConfigError);
  EXPECT_THROW(hosts_of("pi1 pi2"), base::ConfigError);
  EXPECT_THROW(hosts_of(" , "), base::ConfigError);
}

TEST(Hosts, WithAUserOrAPortAreReachedBySsh) {
  EXPECT_TRUE(is_this_host({"127.0.0.1", "127.0.0.1", 0}));
  EXPECT_FALSE(is_this_host({"me@127.0.0.1", "127.0.0.1", 0}));
  EXPECT_FALSE(is_this_host({"127.0.0.1", "127.0.0.1", 2222}));
}

TEST(Hosts, BecomeTheUsersSsh) {
  EXPECT_THAT(ssh_words({"me@pi2", "pi2", 2222}, shell_words({"/opt/troika", "doctor", "--member", "{\"a\": 'b'}"})),
              ElementsAre("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "ServerAliveInterval=5", "-o",
                          "ServerAliveCountMax=3", "-p", "2222", "me@pi2",
                          "/opt/troika doctor --member '{\"a\": '\\''b'\\''}'"));
}

}  // namespace
}  // namespace troika::launch
