#include "rendezvous/store.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "rendezvous/store_protocol.h"

namespace troika::rendezvous {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
    EXPECT_THAT(error.what(), HasSubstr("nobody wrote 'never'"));
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
  std::string large(std::size_t{64} << 20, 'q');
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

TEST(StoreTable, WrapsSumsAndRefusesWhatIsMalformed) {
  Table table;
  EXPECT_EQ(table.apply(wire::Operation::add, "n", "9223372036854775807").body, "9223372036854775807");
  EXPECT_EQ(table.apply(wire::Operation::add, "n", "1").body, "-9223372036854775808");
  EXPECT_EQ(table.apply(wire::Operation::add, "n", "x").status, wire::Status::refused);
  EXPECT_EQ(table.apply(wire::Operation::compare_set, "n", "short").status, wire::Status::refused);
  EXPECT_EQ(table.apply(static_cast<wire::Operation>(77), "n", "").status, wire::Status::refused);
}

}  // namespace
}  // namespace troika::rendezvous
