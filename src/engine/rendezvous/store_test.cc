#include "rendezvous/store.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"

namespace troika::rendezvous {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(Store, KeepsWhatIsWritten) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  std::string value;
  EXPECT_FALSE(client.try_get("a", &value));
  const std::string bytes("with\0zero\n", 10);
  client.set("a", bytes);
  EXPECT_TRUE(client.try_get("a", &value));
  EXPECT_EQ(value, bytes);
  client.set("a", "");
  EXPECT_EQ(client.get("a", 1), "");
  EXPECT_TRUE(client.erase("a"));
  EXPECT_FALSE(client.erase("a"));
  EXPECT_EQ(client.local_address(), "127.0.0.1");
}

TEST(Store, AddsAndComparesInOneStep) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  EXPECT_EQ(client.add("n", 5), 5);
  EXPECT_EQ(client.add("n", -7), -2);
  EXPECT_EQ(client.compare_set("c", "", "first"), "first");
  EXPECT_EQ(client.compare_set("c", "", "second"), "first");
  EXPECT_EQ(client.compare_set("c", "first", "second"), "second");
  client.set("text", "abc");
  EXPECT_THROW(client.add("text", 1), base::PeerError);
}

TEST(Store, ListsKeysByPrefixInOrder) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  for (const char* key : {"b/2", "a", "b/1", "c", "b"}) client.set(key, "x");
  EXPECT_THAT(client.keys("b/"), ElementsAre("b/1", "b/2"));
  EXPECT_THAT(client.keys("none"), ElementsAre());
}

TEST(Store, GetWaitsForTheWriter) {
  const StoreServer server(0);
  StoreClient reader("127.0.0.1", server.port(), 5), writer("127.0.0.1", server.port(), 5);
  std::thread other([&] {
    std::string seen;
    EXPECT_FALSE(writer.get_within("later", 0.05, &seen));
    writer.set("later", "now");
  });
  EXPECT_EQ(reader.get("later", 10), "now");
  other.join();
}

TEST(Store, StaysUsableAfterADeadlineAndForgetsTheLateAnswer) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5), other("127.0.0.1", server.port(), 5);
  const double before = base::monotonic_seconds();
  try {
    client.get("never", 0.1);
    FAIL() << "no error";
  } catch (const base::PeerError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no process wrote 'never'"));
  }
  EXPECT_LT(base::monotonic_seconds() - before, 2);
  other.set("never", "late");
  client.set("x", "y");
  EXPECT_EQ(client.get("x", 1), "y");
  EXPECT_EQ(client.get("never", 1), "late");
}

TEST(Store, CarriesLargeValuesAndRefusesTooLargeOnes) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  std::string large(std::size_t{4} << 20, 'q');
  large[12345] = 'z';
  client.set("large", large);
  EXPECT_EQ(client.get("large", 30), large);
  EXPECT_THROW(client.set("larger", large + "q"), base::PeerError);
  EXPECT_THROW(client.set(std::string(5000, 'k'), "v"), base::PeerError);
  EXPECT_EQ(client.add("still", 1), 1);
}

TEST(Store, ServesManyClientsAtOnce) {
  const StoreServer server(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&] {
      StoreClient client("127.0.0.1", server.port(), 10);
      for (int n = 0; n < 50; ++n) client.add("count", 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(StoreClient("127.0.0.1", server.port(), 5).add("count", 0), 32 * 50);
}

TEST(Store, CloseEndsAWaitingGet) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5), other("127.0.0.1", server.port(), 5);
  std::atomic<bool> ended{false};
  std::thread waiter([&] {
    other.set("waiting", "yes");
    EXPECT_THROW(client.get("never", 60), base::PeerError);
    ended = true;
  });
  StoreClient("127.0.0.1", server.port(), 5).get("waiting", 5);
  client.close();
  waiter.join();
  EXPECT_TRUE(ended);
  EXPECT_THROW(client.set("a", "b"), base::PeerError);
}

TEST(Store, GivesWhatChangedSinceAVersion) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  client.set("beat/0", "a");
  client.set("beat/1", "b");
  client.set("other", "c");
  const StoreEntries all = client.entries("beat/", 0);
  EXPECT_THAT(all.changed, ElementsAre(Pair("0", "a"), Pair("1", "b")));
  client.set("beat/1", "b");
  client.set("beat/2", "d");
  EXPECT_THAT(client.entries("beat/", all.version).changed, ElementsAre(Pair("1", "b"), Pair("2", "d")));
}

TEST(Store, AProcessThatIsKilledLeavesAWordBehind) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  const pid_t child = ::fork();
  if (child == 0) {
    StoreClient killed("127.0.0.1", server.port(), 5);
    killed.leave_behind("left", "word");
    ::kill(::getpid(), SIGKILL);
  }
  EXPECT_EQ(client.get("left", 10), "word");
  ::waitpid(child, nullptr, 0);
  { StoreClient("127.0.0.1", server.port(), 5).leave_behind("other", "word"); }
  std::string value;
  EXPECT_FALSE(client.get_within("other", 0.2, &value));
}

TEST(Store, WaitsForTheFirstOfSeveralKeys) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5), other("127.0.0.1", server.port(), 5);
  std::string value;
  EXPECT_EQ(client.first_within({"failure", "told"}, 0.05, &value), -1);
  auto waits = std::async(std::launch::async, [&] { return client.first_within({"failure", "told"}, 20, &value); });
  other.set("told", "hello");
  EXPECT_EQ(waits.get(), 1);
  EXPECT_EQ(value, "hello");
  other.set("failure", "no");
  EXPECT_EQ(client.first_within({"failure", "told"}, 20, &value), 0);
  EXPECT_EQ(client.set_and_read("a", "x", {"absent"}, &value), -1);
  EXPECT_EQ(client.set_and_read("a", "y", {"absent", "told"}, &value), 1);
  EXPECT_EQ(value, "hello");
  EXPECT_EQ(client.get("a", 5), "y");
}

std::string refusal(int port, const Access& access) {
  try {
    StoreClient client("127.0.0.1", port, 0.1, access);
    return "launch " + client.launch();
  } catch (const base::ConfigError& error) {
    return error.what();
  }
}

TEST(Store, TakesOnlyItsLaunchAndThoseWhoKnowItsSecret) {
  const StoreServer open(0, Reach::this_host, {"a1", ""}, {});
  EXPECT_EQ(refusal(open.port(), {"a1", ""}), "launch a1");
  EXPECT_EQ(refusal(open.port(), {std::nullopt, ""}), "launch a1");
  EXPECT_THAT(refusal(open.port(), {"b2", ""}), HasSubstr("it belongs to another launch (a1)"));
  EXPECT_THAT(refusal(open.port(), {"", ""}), HasSubstr("it belongs to another launch (a1)"));
  EXPECT_THAT(refusal(open.port(), {"a1", "a secret of some length"}), HasSubstr("it has no secret, but this process"));
  const StoreServer closed(0, Reach::this_host, {"a1", "a secret of some length"}, {});
  EXPECT_EQ(refusal(closed.port(), {std::nullopt, "a secret of some length"}), "launch a1");
  for (const std::optional<std::string>& launch : {std::optional<std::string>("b2"), std::optional<std::string>()}) {
    EXPECT_THAT(refusal(closed.port(), {launch, ""}), HasSubstr("it has a secret: set TROIKA_SECRET"));
    EXPECT_THAT(refusal(closed.port(), {launch, "another one"}), HasSubstr("it has a different secret"));
  }
  EXPECT_THAT(refusal(closed.port(), {"b2", ""}), Not(HasSubstr("a1")));
}

TEST(Store, NamesOnceWhoCameWithAWrongSecret) {
  const Access right{"a1", "a secret of some length"};
  const StoreServer server(0, Reach::this_host, right, {});
  StoreClient client("127.0.0.1", server.port(), 5, right);
  std::uint64_t since = 0;
  EXPECT_THAT(with_wrong_secret(client, &since), testing::IsEmpty());
  for (int i = 0; i < 3; ++i) refusal(server.port(), {"a1", "another one"});
  EXPECT_THAT(base::in(with_wrong_secret(client, &since), base::Language::english),
              testing::ElementsAre("a process at 127.0.0.1 tried to join with a secret other than this launch's"));
  EXPECT_THAT(with_wrong_secret(client, &since), testing::IsEmpty());
}

bool host_has_version_6() {
  const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool has = socket >= 0 && ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (socket >= 0) ::close(socket);
  return has;
}

TEST(Store, ServesVersionSixWhereTheHostHasIt) {
  const StoreServer server(0, Reach::networks, {}, {});
  EXPECT_EQ(StoreClient("127.0.0.1", server.port(), 5).local_address(), "127.0.0.1");
  std::string address;
  try {
    address = StoreClient("::1", server.port(), 1).local_address();
  } catch (const base::PeerError&) {
  }
  EXPECT_EQ(address, host_has_version_6() ? "::1" : "");
}

}  // namespace
}  // namespace troika::rendezvous
