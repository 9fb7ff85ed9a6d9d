//! Which addresses the outside world is made of.
//!
//! What callers make the server reach (webhooks, tools) must not be its own neighbourhood.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether `address` is a public one: nobody's loopback, private network, or special purpose.
/// An IPv6 address that stands for an IPv4 one is judged by that.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            embedded_v4(address).map_or_else(|| is_public_v6(address), is_public_v4)
        }
    }
}

/// Whether a URL's host is a private address by its own words.
pub fn is_private_host(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse() {
        Ok(address) => !is_public(address),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240 // reserved, and broadcast
        || (a == 100 && (64..128).contains(&b)) // shared by carriers
        || (a == 192 && b == 0 && c == 0) // protocol assignments
        || (a == 198 && (18..20).contains(&b)); // benchmarks
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let special = address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || (first & 0xffc0) == 0xfec0 // site-local, of old
        || (first == 0x2001 && second == 0x0db8) // documentation
        || (first == 0x0100 && second == 0); // discard
    !special
}

/// The IPv4 address inside: mapped, compatible, translated (`64:ff9b::/96`) or 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(v4(high, low))
        }
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
