#include "rendezvous/connect_cause.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace troika::rendezvous {
namespace {

constexpr unsigned char prohibited_v4[] = {ICMP_PORT_UNREACH, ICMP_NET_ANO, ICMP_HOST_ANO, ICMP_PKT_FILTERED};
// Of RFC 4443: unreachable; prohibited, port unreachable, refused by policy, rejected route; no neighbour.
constexpr unsigned char unreachable_v6 = 1, prohibited_v6[] = {1, 4, 5, 6}, no_neighbour_v6 = 3;

template <std::size_t count>
bool is_among(const unsigned char (&codes)[count], unsigned char code) {
  return std::memchr(codes, code, count) != nullptr;
}

base::Cause cause_of(const sock_extended_err& error) {
  if (error.ee_origin == SO_EE_ORIGIN_ICMP && error.ee_type == ICMP_DEST_UNREACH) {
    if (is_among(prohibited_v4, error.ee_code)) return base::Cause::firewall;
    if (error.ee_code == ICMP_HOST_UNREACH) return base::Cause::nothing_at_address;
  }
  if (error.ee_origin == SO_EE_ORIGIN_ICMP6 && error.ee_type == unreachable_v6) {
    if (is_among(prohibited_v6, error.ee_code)) return base::Cause::firewall;
    if (error.ee_code == no_neighbour_v6) return base::Cause::nothing_at_address;
  }
  return base::Cause::not_told;
}

void set_keeping(int socket, int family, int on) {
  if (family == AF_INET6)
    ::setsockopt(socket, SOL_IPV6, IPV6_RECVERR, &on, sizeof on);
  else
    ::setsockopt(socket, SOL_IP, IP_RECVERR, &on, sizeof on);
}

}  // namespace

void ConnectCause::hear(const std::string& text, base::Cause cause) {
  if (cause == base::Cause::no_answer && !text_.empty()) return;
  text_ = text;
  cause_ = cause;
}

std::string icmp_words(base::Cause cause) {
  if (cause == base::Cause::firewall) return ": a firewall forbids it";
  return cause == base::Cause::nothing_at_address ? ": nothing answers at that address" : "";
}

base::Cause cause_of_connecting(int code) {
  if (code == ETIMEDOUT) return base::Cause::no_answer;
  if (code == EPERM) return base::Cause::firewall;
  return code == ECONNREFUSED ? base::Cause::rank_missing : base::cause_of_errno(code);
}

void keep_icmp(int socket, int family) { set_keeping(socket, family, 1); }
void drop_icmp(int socket, int family) { set_keeping(socket, family, 0); }

base::Cause icmp_cause(int socket) {
  alignas(cmsghdr) char control[512];
  char data[256];
  iovec part{data, sizeof data};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return base::Cause::not_told;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    const bool is_error = (at->cmsg_level == SOL_IP && at->cmsg_type == IP_RECVERR) ||
                          (at->cmsg_level == SOL_IPV6 && at->cmsg_type == IPV6_RECVERR);
    if (!is_error) continue;
    sock_extended_err error{};
    std::memcpy(&error, CMSG_DATA(at), sizeof error);
    return cause_of(error);
  }
  return base::Cause::not_told;
}

}  // namespace troika::rendezvous
