#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {
namespace {
using ::testing::HasSubstr;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A server that is no store: says `answer` to everyone and keeps or closes the connection.
class Foreigner {
 public:
  explicit Foreigner(std::string answer) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, answer = std::move(answer)] {
      for (int socket; (socket = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(socket)) {
        char greeting[8];
        EXPECT_GE(::recv(socket, greeting, sizeof greeting, MSG_WAITALL), 0);
        EXPECT_GE(::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL), 0);
      }
    });
  }
  ~Foreigner() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  int port() const { return port_; }

 private:
  int listener_;
  int port_ = 0;
  std::thread thread_;
};

std::string error_of_client(int port, double seconds) {
  try {
    StoreClient("127.0.0.1", port, seconds);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(StoreFaults, ATakenPortIsNamedWithItsHolder) {
  const StoreServer first(0);
  try {
    const StoreServer second(first.port());
    FAIL() << "no error";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("port " + std::to_string(first.port()) + " is held by '"));
    EXPECT_THAT(error.what(), HasSubstr("(pid " + std::to_string(::getpid()) + ")"));
  }
}

TEST(StoreFaults, AForeignServerIsRecognised) {
  const Foreigner web("HTTP/1.1 400 Bad Request\r\n\r\n"), silent("");
  for (const int port : {web.port(), silent.port()}) {
    const double before = base::monotonic_seconds();
    EXPECT_THAT(error_of_client(port, 30), HasSubstr("is held by something that is not a Troika store"));
    EXPECT_LT(base::monotonic_seconds() - before, 10);
  }
}

TEST(StoreFaults, NobodyThereIsAnErrorAfterTheDeadline) {
  int port = 0;
  {
    const StoreServer gone(0);
    port = gone.port();
  }
  const double before = base::monotonic_seconds();
  EXPECT_THAT(error_of_client(port, 0.5), HasSubstr("did not answer within 0.5 s"));
  EXPECT_LT(base::monotonic_seconds() - before, 3);
}

TEST(StoreFaults, AClientMayComeBeforeItsServer) {
  int port = 0;
  {
    const StoreServer gone(0);
    port = gone.port();
  }
  std::string result = "nothing";
  std::thread early([&] { result = error_of_client(port, 30); });
  const StoreServer server(port);
  early.join();
  EXPECT_EQ(result, "no error");
}

TEST(StoreFaults, GarbageIsDroppedAndOthersAreServed) {
  const StoreServer server(0);
  StoreClient client("127.0.0.1", server.port(), 5);
  const std::string hello = std::string("TROIKAc2") + std::string(nonce_bytes, 'n');
  const std::string huge_frame = hello + "\xff\xff\xff\xff" + "12345";
  const std::string bad_launch = hello + std::string("\x0b\0\0\0\1\0\0\0\1\1\xff\xff\0\0x", 15);
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), huge_frame, bad_launch, std::string("TRO")}) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server.port());
    ASSERT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::send(socket, garbage.data(), garbage.size(), MSG_NOSIGNAL), static_cast<ssize_t>(garbage.size()));
    if (garbage == "TRO") ::shutdown(socket, SHUT_WR);
    char buffer[64];
    ssize_t got = 0;
    while ((got = ::recv(socket, buffer, sizeof buffer, 0)) > 0) {
    }
    EXPECT_LE(got, 0);  // the server closed it
    ::close(socket);
    EXPECT_GT(client.add("alive", 1), 0);
  }
}

TEST(StoreFaults, AServerThatEndsEndsAWaitingGet) {
  auto server = std::make_unique<StoreServer>(0);
  StoreClient client("127.0.0.1", server->port(), 5), other("127.0.0.1", server->port(), 5);
  std::string text;
  std::thread waiter([&] {
    try {
      other.set("waiting", "yes");
      client.get("never", 60);
    } catch (const base::PeerError& error) {
      text = error.what();
    }
  });
  StoreClient("127.0.0.1", server->port(), 5).get("waiting", 5);
  const double before = base::monotonic_seconds();
  server.reset();
  waiter.join();
  EXPECT_LT(base::monotonic_seconds() - before, 2);
  EXPECT_THAT(text, HasSubstr("has ended"));
}

}  // namespace
}  // namespace troika::rendezvous
